"""Which variables of a user's are taken for settings, what a word is near to, and which roles look."""

import re
from pathlib import Path

import pytest
import yaml

from rekindle.settings.names import SHORT, instead, misnamed, near

ROLES = Path(__file__).parents[3] / "roles"
KNOWN = yaml.safe_load((ROLES / "settings/meta/argument_specs.yml").read_text())["argument_specs"]
NAMES = KNOWN["inventory"]["options"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lease_end", "lease_ends"),
        ("lease-ends", "lease_ends"),
        ("leaseEnds", "lease_ends"),
        ("budgets", "budget"),
        ("re_run", "rerun"),
        ("Stop", "stop"),
        ("rekindle_job", "rekindle_jobs"),
        ("rekindel_jobs", "rekindle_jobs"),
        ("REKINDLE_ROOT", "rekindle_root"),
        ("rekindle_lease_end", "rekindle_lease_ends"),
        ("rekindle_pin", "rekindle_pins"),
        ("rekindle_rooot", "rekindle_root"),
        ("rekindle_tmp", "rekindle_tmpdir"),
        ("rekindlejobs", "rekindle_jobs"),
    ],
)
def test_what_is_nearly_a_setting_is_refused(name, meant):
    assert misnamed([name, "ansible_host"], NAMES) == [(name, meant)]


@pytest.mark.parametrize("name", ["rekindle_of_my_own", "rekindle_gpus", "rekindl_gpus", "rekindle_hosts"])
def test_a_name_with_our_prefix_that_is_near_to_no_setting_is_refused_without_a_suggestion(name):
    assert misnamed([name], NAMES) == [(name, "")]


@pytest.mark.parametrize(("word", "meant"), [("pt_dpp", "pt_ddp"), ("sft", "SFT"), ("nothing", "")])
def test_a_word_is_near_to_one_or_to_none(word, meant):
    assert near(word, ["pt_ddp", "SFT"]) == meant
    assert instead(word, ["pt_ddp", "SFT"]) == (f"write {meant}." if meant else "name one of pt_ddp, SFT.")


def test_what_is_a_setting_or_no_business_of_ours_is_not():
    others = (
        "ansible_user",
        "groups",
        "steps",
        "shop",
        "lease",
        "lessons",
        "reruns_of_mine",
        "_rekindle_home",
    )
    assert misnamed([*NAMES, *SHORT, *others], NAMES) == []


def test_the_short_names_are_those_that_the_defaults_read():
    defaults = (ROLES / "settings/defaults/main.yml").read_text()
    assert tuple(sorted(re.findall(r"{{ (\w+) \| default", defaults))) == SHORT


def _depends(role):
    meta = yaml.safe_load((ROLES / role / "meta/main.yml").read_text())
    named = {
        dependency["role"]
        for dependency in meta.get("dependencies", ())
        if dependency.get("when") is not False
    }
    return named.union(*map(_depends, named))


@pytest.mark.parametrize(
    "role", sorted({path.name for path in ROLES.iterdir()} - {"settings", "report"}), ids=str
)
def test_every_role_that_works_on_hosts_has_its_settings_checked(role):
    assert "settings" in _depends(role)
