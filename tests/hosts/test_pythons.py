# SPDX-License-Identifier: Apache-2.0
"""Hosts whose own Pythons do not fit: 3.14, 3.13 or 3.6 alone, or none. The controller brings one."""

import shutil
from pathlib import Path

import pytest
from lab.labs import Lab
from lab.pythons import stand_in
from lab.wheels import fill_wheelhouse
from listing import listing
from runners.plays import play

from rekindle.records import HostRecord, PlanRecord, VerdictRecord, read_record

OLD = Path.home() / ".pyenv/versions/3.6.15"
"""Where this machine has one."""


@pytest.fixture(scope="module")
def lab(named):
    lab = Lab(named("pythons"), light=True, suites={"new": "forky", "stable": "trixie"})
    try:
        lab.up(["new", "stable", "old", "none"])
        for name in ("old", "none"):
            for path in lab.hosts[name].root.glob("usr/bin/python3*"):
                path.unlink()
        shutil.copytree(OLD, lab.hosts["old"].root / OLD.relative_to("/"), symlinks=True)
        (lab.hosts["old"].root / "usr/bin/python3").symlink_to(OLD / "bin/python3")
        (lab.hosts["old"].root / "root").chmod(0o755)
        yield lab
    finally:
        lab.down()


def test_each_is_proven_with_the_python_that_is_brought_and_retired(lab, small, tmp_path):
    archive = stand_in(tmp_path)
    setting = ("-e", f"rekindle_python_archive={archive}")
    before = {name: listing(lab, name) for name in lab.hosts}
    fill_wheelhouse(lab, *setting)
    done = play("site.yml", lab.inventory, tmp_path / "r", *setting, cwd=small)
    assert done.status == 0, done.output
    for name, own in (("new", "3.14"), ("stable", "3.13"), ("old", "3.6"), ("none", "")):
        host = read_record(tmp_path / "r" / name / "host.json", HostRecord)
        assert [python.version[: len(own)] for python in host.pythons if not python.archive] == [own] * bool(
            own
        )
        (torch,) = (
            environment
            for environment in read_record(tmp_path / "r" / name / "plan.json", PlanRecord).environments
            if environment.framework == "torch"
        )
        assert torch.build.python == f"{host.root}/pythons/{archive[-64:][:12]}/bin/python3"
        (reason,) = (reason.message for reason in torch.reasons if reason.axis == "python")
        assert f"which the controller brings: this host has {own or 'none'}" in reason
        assert read_record(tmp_path / "r" / name / "pt_ddp" / "verdict.json", VerdictRecord).verdict == "PASS"
    done = play("retire.yml", lab.inventory, tmp_path / "r")
    assert done.status == 0, done.output
    assert {name: listing(lab, name) for name in lab.hosts} == before
