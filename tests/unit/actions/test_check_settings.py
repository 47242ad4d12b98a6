# SPDX-License-Identifier: Apache-2.0
"""A host's settings: what cannot work is refused, and only then is its lease written."""

from types import SimpleNamespace

import pytest

from rekindle.records import LeaseRecord, read_record


@pytest.fixture
def check(load, tmp_path):
    def run(budget="", **variables):
        args = {"lease_ends": "", "budget": budget, "results": str(tmp_path), "home": str(tmp_path / "h")}
        action = load("check_settings").make(args, _templar=SimpleNamespace(template=lambda value: value))
        return action.run(task_vars={"inventory_hostname": "h", **variables})

    return run


def test_settings_that_can_work_leave_a_lease(check, tmp_path):
    assert check(budget="45m", rekindle_jobs=["pt_ddp"]) == {"msg": "All settings are known."}
    lease = read_record(tmp_path / "h" / "lease.json", LeaseRecord)
    assert lease.host == "h"
    assert lease.started < lease.ends


def test_all_that_cannot_work_is_reported_at_once_and_no_lease_is_written(golden, check, tmp_path):
    result = check(budget="soon", rekindle_budget="soon", rekindle_jobs=["pt_dpp"], rekindle_rooot="/x")
    assert result["failed"] is True
    golden(*result["msg"].splitlines())
    assert not (tmp_path / "h").exists()
    wrong = {"rekindle_jobs": [], "rekindle_capsule": "/nowhere"}
    assert "failed" not in check(**wrong, ansible_play_role_names=["retire"])  # which reads neither


def test_a_broken_run_json_fails(check, tmp_path):
    (tmp_path / "run.json").write_text("{")
    assert "run.json is not a valid PlaybookRecord: " in check()["msg"]
