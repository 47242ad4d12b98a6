"""Hosts that lie about their runs and locks, in real plays: what they say is shown and never believed."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from plays import REPOSITORY, play

from rekindle.host.payload import build_payload
from rekindle.judge import judge
from rekindle.records import PlacedRecord, PlaybookRecord, RunSpec, read, write

RUN = "runs/pt_ddp-0123456789ab"
COLLECT = """
- hosts: all
  gather_facts: false
  tasks:
    - collect_run: {{job: pt_ddp, python: {python}, home: {home}}}
    - check_verdicts: {{folder: {home}, jobs: [pt_ddp]}}
"""


@pytest.fixture
def inventory(tmp_path):
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"liar": host}}}))
    return tmp_path / "hosts.yml"


@pytest.mark.parametrize("with_spec", [False, True])
def test_a_host_that_starts_nothing_and_sends_a_pass_has_not_passed(tmp_path, inventory, with_spec):
    run, results = tmp_path / "root" / RUN, tmp_path / "r"
    passed = judge(REPOSITORY / "tests/recordings/runs/pt_ddp-cpu-2")
    run.mkdir(parents=True)
    write(run / "verdict.json", replace(passed, evidence=(), required=False, host="another", job="another"))
    spec = read(REPOSITORY / "tests/recordings/runs/pt_ddp-cpu-2/spec.json", RunSpec)
    sent = replace(spec, host="liar", nonce="0" * 32)
    if with_spec:
        write(run / "spec.json", sent)
    write(results / "run.json", PlaybookRecord(run="r", started="2026-11-21T02:00:00Z", hosts=("liar",)))
    payload = build_payload(REPOSITORY / "flare_jobs", results / "payload")
    placed = PlacedRecord(run=str(run), payload=str(payload), spec=sent)
    write(results / "liar" / "pt_ddp.placed.json", placed)
    playbook = tmp_path / "collect.yml"
    playbook.write_text(COLLECT.format(python=sys.executable, home=results / "liar"))
    collected = play(playbook, inventory, results)
    assert collected.status != 0
    assert "pt_ddp is UNPROVEN: The host itself says PASS" in " ".join(collected.output.split())
    reported = play("playbooks/report.yml", inventory, results)
    assert reported.status != 0
    (row,) = json.loads((results / "results.json").read_text())["rows"]
    assert (row["host"], row["job"], row["verdict"], row["host_says"]) == (
        "liar",
        "pt_ddp",
        "UNPROVEN",
        "PASS",
    )
    assert row["cause"].startswith("The host itself says PASS, and its files do not show it. ")
    assert json.loads((results / "results.json").read_text())["passed"] is False


def test_a_lock_that_was_not_sent_does_not_come_into_env_json(tmp_path, inventory):
    recordings = REPOSITORY / "tests/recordings"
    home = tmp_path / "r" / "liar"
    home.mkdir(parents=True)
    for name in ("host.json", "plan.json"):
        (home / name).write_bytes((recordings / "h200-x2" / name).read_bytes())
    env = json.loads((recordings / "h200-x2" / "env.json").read_text())
    plan = json.loads((home / "plan.json").read_text())
    own = Path(REPOSITORY, "src/rekindle/locks")
    locks = {"driver": "driver.txt"}
    for environment in plan["environments"]:
        environment["build"]["lock_sha256"] = _digest(own / environment["build"]["lock"])
        locks[environment["framework"]] = environment["build"]["lock"]
    (home / "plan.json").write_text(json.dumps(plan))
    told = [environment for environment in env["environments"] if environment["framework"] in locks]
    for environment in told:
        lock = locks[environment["framework"]]
        environment["lock"], environment["lock_sha256"] = lock, _digest(own / lock)
    task = {"environments": told, "folder": str(home), "capsule": ""}

    def save():
        playbook = tmp_path / "save.yml"
        tasks = [{"save_environments": task}]
        playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
        return play(playbook, inventory, tmp_path / "r")

    done = save()
    assert done.status == 0, done.output
    (home / "env.json").unlink()
    for other in ("tensorflow-2.21.0-cpu-py312.txt", "torch-2.13.0-cpu-py311.txt"):
        told[-1]["lock"], told[-1]["lock_sha256"] = other, _digest(own / other)
        done = save()
        assert done.status != 0
        assert "its locks are not those that were sent. Fix:" in " ".join(done.output.split())
    told[-1]["lock_sha256"] = hashlib.sha256(os.urandom(8)).hexdigest()
    assert save().status != 0
    assert not (home / "env.json").exists()


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
