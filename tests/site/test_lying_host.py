# SPDX-License-Identifier: Apache-2.0
"""A host that lies about its run, in real plays: its word is shown and never believed."""

import json
import sys

import pytest
from msgspec.structs import replace
from runners.plays import OWN_PLAYBOOK, REPOSITORY, play

from rekindle.host.payload import pack_payload, write_payload
from rekindle.judge import judge_run
from rekindle.records import PlacedRecord, PlaybookRecord, RunSpec, read_record, write_record

RUN = "runs/pt_ddp-0123456789ab"
COLLECT = """
- hosts: all
  gather_facts: false
  tasks:
    - rekindle.flare.collect_run: {{job: pt_ddp, python: {python}, home: {home}}}
    - rekindle.flare.check_verdicts: {{folder: {home}, jobs: [pt_ddp]}}
"""


@pytest.fixture
def inventory(tmp_path):
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"liar": host}}}))
    return tmp_path / "hosts.yml"


@pytest.mark.parametrize("with_spec", [False, True])
def test_a_host_that_starts_nothing_and_sends_a_pass_has_not_passed(tmp_path, inventory, with_spec):
    run, results = tmp_path / "root" / RUN, tmp_path / "r"
    passed = judge_run(REPOSITORY / "tests/recordings/runs/pt_ddp-cpu-2")
    run.mkdir(parents=True)
    write_record(
        run / "verdict.json", replace(passed, evidence=(), required=False, host="another", job="another")
    )
    spec = read_record(REPOSITORY / "tests/recordings/runs/pt_ddp-cpu-2/spec.json", RunSpec)
    sent = replace(spec, host="liar", nonce="0" * 32)
    if with_spec:
        write_record(run / "spec.json", sent)
    write_record(
        results / "run.json", PlaybookRecord(run="r", started="2026-11-21T02:00:00Z", hosts=("liar",))
    )
    payload = write_payload(pack_payload(REPOSITORY / "flare_jobs"), results / "payload")
    placed = PlacedRecord(run=str(run), payload=str(payload), spec=sent, at="2026-11-25T22:28:00Z")
    write_record(results / "liar" / "pt_ddp.placed.json", placed)
    playbook = tmp_path / "collect.yml"
    playbook.write_text(COLLECT.format(python=sys.executable, home=results / "liar"))
    collected = play(playbook, inventory, results, **OWN_PLAYBOOK)
    assert collected.status != 0
    assert "pt_ddp is UNPROVEN: " in " ".join(collected.output.split())
    reported = play("playbooks/report.yml", inventory, results)
    assert reported.status != 0
    (row,) = json.loads((results / "results.json").read_text())["rows"]
    assert (row["host"], row["job"], row["verdict"]) == ("liar", "pt_ddp", "UNPROVEN")
    assert json.loads((results / "results.json").read_text())["passed"] is False
