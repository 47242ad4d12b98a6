# SPDX-License-Identifier: Apache-2.0
"""Our roles in somebody's own playbook elsewhere, on hosts whose first Pythons on PATH are broken shims."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from runners.plays import HANGS_S, OWN_PLAYBOOK
from stand_ins import shims

from rekindle.records import Outcome, read_record

INVENTORY = """\
all:
  vars: {ansible_connection: local, rekindle_gpus_required: false, rekindle_min_free_gb: 0}
  hosts:
    first: {rekindle_root: FOLDER/first}
    second: {rekindle_root: FOLDER/second}
    full: {rekindle_root: FOLDER/full, rekindle_min_free_gb: 1000000}
"""
OWN = """\
- hosts: all
  gather_facts: false
  pre_tasks:
    - ansible.builtin.raw: "true"
  roles: [rekindle.flare.preflight, role: theirs]
  tasks:
    - ansible.builtin.include_role: {name: rekindle.flare.payload}
    - ansible.builtin.command: "true"
- hosts: localhost
  gather_facts: false
  roles: [rekindle.flare.report]
"""
THEIRS = "- ansible.builtin.import_role: {name: rekindle.flare.plan}\n"
RETIRE = """\
- hosts: first
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: rekindle.flare.retire}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a playbook for each half of a lease."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "roles/theirs/tasks").mkdir(parents=True)
    (folder / "roles/theirs/tasks/main.yml").write_text(THEIRS)
    (folder / "hosts.yml").write_text(INVENTORY.replace("FOLDER", str(folder / "lease")))
    (folder / "own.yml").write_text(OWN)
    (folder / "retire.yml").write_text(RETIRE)
    shims.put(folder / "shims")
    return folder


@pytest.fixture(scope="module")
def play(folder):
    """Return what runs one of the playbooks."""
    environ = {**OWN_PLAYBOOK, "ANSIBLE_NOCOLOR": "1", "PATH": f"{folder / 'shims'}:{os.environ['PATH']}"}

    def run(playbook):
        return subprocess.run(
            ["ansible-playbook", playbook, "-i", "hosts.yml"],
            cwd=folder,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANGS_S,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def own(play, folder):
    """Return what the first playbook said, and the one folder of its results."""
    done = play("own.yml")
    (results,) = (folder / "results").glob("2*")
    return done.stdout, results


def test_what_preflight_found_runs_every_later_task_of_a_host(own, folder):
    for name in shims.NAMES:  # which start nothing
        assert subprocess.run([folder / "shims" / name], capture_output=True, check=False).returncode == 127
    printed, results = own
    assert "command not found" not in printed
    for name in ("first", "second"):
        (payload,) = (folder / "lease" / name / "jobs").glob("rekindle-*.zip")
        assert json.loads((results / name / "payload.json").read_text())["path"] == str(payload)
        assert all((results / name / record).exists() for record in ("host.json", "plan.json"))
        assert not (results / name / "outcome.json").exists()


def test_a_host_that_left_at_a_role_of_ours_has_the_cause_in_the_table(own):
    printed, results = own
    outcome = read_record(results / "full" / "outcome.json", Outcome)
    assert outcome.stage == "preflight"
    rows = {row["host"]: row for row in json.loads((results / "results.json").read_text())["rows"]}
    assert set(rows) == {"first", "second", "full"}
    assert rows["full"]["cause"] == str(outcome.complaint)
    assert printed.rstrip().endswith("/report.html")
    assert (results / "report.html").exists()


def test_a_host_without_a_record_at_home_is_retired(own, play, folder):
    done = play("retire.yml")
    assert done.returncode == 0, done.stdout
    assert not (folder / "lease" / "first").exists()
    (results,) = set((folder / "results").glob("2*")) - {own[1]}
    assert Path(results, "first", "retired.json").exists()
