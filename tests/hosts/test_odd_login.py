# SPDX-License-Identifier: Apache-2.0
"""A host whose logins have pyenv's broken shims first on PATH, and a HOME that is not passwd's."""

import json
import os

import pytest
from lab.labs import Lab
from listing import listing
from runners.plays import OWN_PLAYBOOK, play
from stand_ins import shims

PLAYBOOK = """\
- hosts: all
  gather_facts: false
  roles: [rekindle.flare.preflight, rekindle.flare.plan, rekindle.flare.payload]
"""


@pytest.fixture
def lab(named):
    """Return a lab of one light host."""
    lab = Lab(named("login"), light=True)
    try:
        lab.up(["odd"])
        yield lab
    finally:
        lab.down()


@pytest.fixture
def root(lab):
    """Return the host's disk, once its logins are odd."""
    root = lab.hosts["odd"].root
    shims.put(root / "opt/shims")
    (root / "data/lease").mkdir(parents=True)
    os.chown(root / "data/lease", 1000, 1000)
    (root / "etc/environment").write_text("HOME=/data/lease\nPATH=/opt/shims:/usr/local/bin:/usr/bin:/bin\n")
    lab.hang_up()
    return root


def test_all_ends_in_the_root_that_preflight_found_and_retire_leaves_nothing(lab, root, tmp_path):
    bare = listing(lab, "odd")
    (tmp_path / "way.yml").write_text(PLAYBOOK)
    user = ("-e", "ansible_user=lease")  # as an inventory of a lease has it; Ansible's ~ is its passwd's then
    done = play(tmp_path / "way.yml", lab.inventory, tmp_path / "r", *user, **OWN_PLAYBOOK)
    assert done.status == 0, done.output
    assert json.loads((tmp_path / "r/odd/host.json").read_text())["root"] == "/data/lease/rekindle"
    assert list(root.glob("data/lease/rekindle/jobs/rekindle-*.zip"))
    assert list(root.glob("data/lease/rekindle/tmp/ansible"))
    assert not (root / "home/lease/rekindle").exists()

    retired = play("retire.yml", lab.inventory, tmp_path / "last", *user)
    assert retired.status == 0, retired.output
    assert listing(lab, "odd") == bare
