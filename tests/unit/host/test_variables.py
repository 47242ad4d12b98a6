# SPDX-License-Identifier: Apache-2.0
"""What of a host's variables reaches jobs, and what every job gets."""

import pytest

from rekindle.host.variables import TELEMETRY_OFF, select_for_installers, select_for_jobs

OFF = {
    **dict.fromkeys(("DO_NOT_TRACK", "DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY"), "1"),
    **dict.fromkeys(("FLWR_TELEMETRY_ENABLED", "RAY_USAGE_STATS_ENABLED"), "0"),
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


@pytest.mark.parametrize("gives", [select_for_jobs, select_for_installers])
@pytest.mark.parametrize("user", [{}, dict.fromkeys(TELEMETRY_OFF, "on")])
def test_telemetry_is_off_for_every_job_whatever_the_user_has(gives, user):
    given = gives({"HOME": "/home/u", **user})
    assert given["HOME"] == "/home/u"
    assert {name: given[name] for name in OFF} == OFF
    assert given.keys() == {"HOME", *TELEMETRY_OFF}


@pytest.mark.parametrize(
    "value",
    [
        *("https://me:secret@h/p", "https://token@h/p", "https://h/p?sig=secret", "me:secret@proxy:3128"),
        *("//me:secret@h:1", " me:secret@h", "https://h/#tok=1"),
        *("https://me:se cret@h/p", "https://me:se/cret@h/p", "me:se cret@proxy:3128", "x://y ://me@h"),
    ],
)
def test_a_value_with_credentials_reaches_no_job(value):
    assert "HF_ENDPOINT" not in select_for_jobs({"HF_ENDPOINT": value})


@pytest.mark.parametrize("value", ["https://h:8443/p/q", "/a:/b", "a:b", "1,2", "file:///srv"])
def test_other_values_do(value):
    assert select_for_jobs({"HF_ENDPOINT": value})["HF_ENDPOINT"] == value
