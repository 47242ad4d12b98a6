# SPDX-License-Identifier: Apache-2.0
"""Which variables of a user's are taken for settings, what a word is near to, and which roles look."""

import re

import pytest
import yaml
from runners.plays import REPOSITORY

from rekindle.records.misfits import suggest_instead
from rekindle.settings.names import SHORT, find_misnamed
from rekindle.settings.play import read_specifications

ROLES = REPOSITORY / "roles"
NAMES = read_specifications(REPOSITORY)
NEAR = {
    "lease_ends": ("lease_end", "lease-ends", "leaseEnds"),
    "budget": ("budgets",),
    "rerun": ("re_run",),
    "stop": ("Stop",),
    "rekindle_jobs": ("rekindle_job", "rekindel_jobs", "rekindlejobs"),
    "rekindle_root": ("REKINDLE_ROOT", "rekindle_rooot"),
    "rekindle_lease_ends": ("rekindle_lease_end",),
    "rekindle_pins": ("rekindle_pin",),
    "rekindle_tmpdir": ("rekindle_tmp",),
    "rekindle_gpus": ("rekindle_gpu", "rekindl_gpus"),
    "": ("rekindle_of_my_own", "rekindle_hosts"),
}
OTHERS = "ansible_user groups steps shop lease lessons reruns_of_mine _rekindle_home"


@pytest.mark.parametrize("meant", NEAR)
def test_what_is_nearly_a_setting_or_has_our_prefix_is_refused(meant):
    for name in NEAR[meant]:
        assert find_misnamed([name, "ansible_host"], NAMES) == [(name, meant)]


def test_what_is_a_setting_or_no_business_of_ours_is_not():
    assert find_misnamed([*NAMES, *SHORT, *OTHERS.split()], NAMES) == []


def test_a_word_is_near_to_one_or_to_none():
    meant = [suggest_instead(word, ["pt_ddp", "SFT"]) for word in ("pt_dpp", "sft", "nothing")]
    assert meant == ["write pt_ddp.", "write SFT.", "name one of pt_ddp, SFT."]


def test_the_short_names_are_those_that_the_defaults_read():
    defaults = (ROLES / "settings/defaults/main.yml").read_text()
    assert tuple(sorted(re.findall(r"{{ (\w+) \| default", defaults))) == SHORT


def _depends(role):
    meta = yaml.safe_load((ROLES / role / "meta/main.yml").read_text())
    named = {
        entry["role"].removeprefix("rekindle.flare.")
        for entry in meta.get("dependencies", ())
        if entry.get("when") is not False
    }
    return named.union(*map(_depends, named))


@pytest.mark.parametrize("role", sorted({path.name for path in ROLES.iterdir()} - {"settings", "report"}))
def test_every_role_that_works_on_hosts_has_its_settings_checked(role):
    assert "settings" in _depends(role)
