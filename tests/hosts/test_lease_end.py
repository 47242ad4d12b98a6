# SPDX-License-Identifier: Apache-2.0
"""The lease ends: in the middle of a run, by a power cut, and in order, by retire.yml. On the second host."""

import json
import os
import re
import subprocess
import time

import pytest
from listing import listing
from runners.commands import capture_command
from runners.plays import checkout, play

from rekindle.records import RetiredRecord, VerdictRecord, read_record

HOST = "second"
JOB = """\
schema: rekindle/job/1
name: {name}
summary: One round of pt_ddp
code: pt_ddp
environment: torch
example: {{command: [job.py, --client_ids, "{{names}}", --gpu, "{{devices}}", --num_rounds, "{{rounds}}"]}}
sites: 1
ranks_per_site: 2
rounds: 1
when_short_of_gpus: share
limit_s: 300
arguments: {{local_epoch: 1}}
proof:
  - claim: rounds_completed
"""


def on_host(pair, command):
    return capture_command(pair.ssh(HOST, command), check=True).stdout


@pytest.fixture(scope="module")
def cut(site, pair, tmp_path_factory):
    """Return status, output and results of a run whose host loses its power as its second job begins."""
    shop, results = checkout(tmp_path_factory.mktemp("shop")), tmp_path_factory.mktemp("results")
    for name in ("early", "late"):
        (shop / "flare_jobs" / name).mkdir()
        (shop / "flare_jobs" / name / "job.yml").write_text(JOB.format(name=name))
    settings = {
        "rekindle_jobs": ["early", "late"],
        "rekindle_results": str(results),
        "rekindle_tmpdir": "/var/tmp",
    }
    run = subprocess.Popen(
        [
            "ansible-playbook",
            "site.yml",
            "-i",
            pair.inventory,
            "--limit",
            f"{HOST},localhost",
            "-e",
            json.dumps(settings),
        ],
        cwd=shop,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while not (results / HOST / "early" / "verdict.json").exists():
            assert run.poll() is None, run.stdout.read()
            time.sleep(0.02)
        pair.hosts[HOST].cut_power()
        output, _ = run.communicate(timeout=120)
    finally:
        run.kill()
        pair.up([])
    return run.returncode, output, results


def test_a_host_that_vanishes_is_lost_and_what_it_had_finished_is_home(cut):
    status, output, results = cut
    assert status != 0
    assert read_record(results / HOST / "early" / "verdict.json", VerdictRecord).verdict == "PASS"
    early, late = json.loads((results / "results.json").read_text())["rows"]
    assert (early["job"], early["verdict"]) == ("early", "PASS")
    assert (late["job"], late["verdict"]) == ("late", "LOST")
    assert re.search(r"lost during [Vv]alidate\. ", late["cause"])
    assert re.search(r"^LOST: .*\n( .*\n)*  late on second$", output, re.M)
    assert re.search(r"^second +early +PASS ", output, re.M)


def retire(pair, results, *more):
    return play("retire.yml", pair.inventory, results, "--limit", HOST, *more)


def printed(done):
    return " ".join(done.output.split())


def test_a_host_on_which_a_job_still_runs_is_not_touched(cut, pair, tmp_path):
    (run,) = on_host(pair, "ls -d rekindle/runs/early-*/").split()
    hold = f"import fcntl, time; lock = open('{run}driver.lock'); fcntl.flock(lock, 2); time.sleep(99)"
    holder = on_host(pair, f'nohup python3 -c "{hold}" >/dev/null 2>&1 & echo $!; sleep 0.5')
    try:
        before = listing(pair, HOST)
        done = retire(pair, tmp_path)
        assert done.status != 0
        assert re.search(r"early-[0-9a-f]{12} still runs on the host, .* Fix: .* -e stop=true", printed(done))
        assert listing(pair, HOST) == before
    finally:
        on_host(pair, f"kill {holder}")


def test_a_host_whose_copy_fails_is_not_touched(cut, pair, tmp_path):
    before = listing(pair, HOST)
    on_host(pair, "chmod 0 rekindle/runs/early-*/ended.json")
    done = retire(pair, tmp_path)
    on_host(pair, "chmod 600 rekindle/runs/early-*/ended.json")
    assert done.status != 0
    assert re.search(r"ended\.json cannot be packed: Permission denied\. Fix: ", printed(done))
    assert listing(pair, HOST) == before


def test_after_retire_the_host_is_as_it_was_and_what_is_worth_keeping_is_home(cut, pair, bare, tmp_path):
    sums = "cd rekindle/runs && sha256sum */ended.json"
    ends = dict(reversed(line.split()) for line in on_host(pair, sums).splitlines())
    assert any(path.startswith("/var/tmp/rekindle-lease\t") for path in listing(pair, HOST))
    done = retire(pair, tmp_path)
    assert done.status == 0, done.output
    assert listing(pair, HOST) == bare
    kept = tmp_path / HOST / "retired"
    assert len(ends) == 2  # of pt_ddp and early
    for name, digest in ends.items():
        done = capture_command(["sha256sum", kept / "runs" / name], check=True)
        assert done.stdout.split()[0] == digest
    record = read_record(tmp_path / HOST / "retired.json", RetiredRecord)
    assert {name.split("-")[0] for name, judged in record.runs.items() if judged == "PASS"} == {
        "pt_ddp",
        "early",
    }
    assert (kept / "logs/environments/log.txt").exists()


def test_again_there_is_nothing_to_do(cut, pair, tmp_path):
    done = retire(pair, tmp_path)
    assert done.status == 0, done.output
    assert re.search(r"changed=0 ", done.output)
    (row,) = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert "nothing of it was there to keep" in row["cause"]
