# SPDX-License-Identifier: Apache-2.0
"""The driver on a job that is a few lines of Python: it starts, follows, ends and leaves nothing behind."""

import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pytest
import run_here
from runners.commands import capture_command
from runners.toys import STUBBORN, assert_gone, child_pid, supervisor_of, toy, wait_for, wait_for_end

from rekindle.host.leftovers import end_processes, find_running
from rekindle.jobs import load_job
from rekindle.judge import judge_run
from rekindle.records import Progress, RunEnd, RunSpec, read_record
from rekindle.records.evidence import read_lines

REPOSITORY = Path(__file__).parents[3]
ESCAPE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open("child.pid", "w").write(str(child.pid))
"""
ORPHAN = """
import os, subprocess, sys, time
leaves = "import os; os.fork() or os._exit(0)"
group = subprocess.Popen([sys.executable, "-c", leaves], start_new_session=True)
group.wait()
while True:
    try:
        os.killpg(group.pid, 0)
    except ProcessLookupError:
        break
    time.sleep(0.05)
print("the group has ended")
"""
OUTPUT_AND_NONCE = """
import os, stat, time
for number in (1, 2):  # a pipe that breaks makes NVFlare's logging call itself at every site
    print(stat.S_ISREG(os.fstat(number).st_mode), flush=True)
print(os.environ["REKINDLE_NONCE"])
time.sleep(1)
"""


def test_a_job_that_exits_0_and_proves_nothing_is_no_pass_and_all_of_it_has_its_nonce(tmp_path):
    run, start = toy(tmp_path, OUTPUT_AND_NONCE)
    assert start() is True
    assert judge_run(wait_for_end(run)).verdict == "UNPROVEN"
    ended = read_record(run / "ended.json", RunEnd)
    assert (ended.exit_status, ended.nonce) == (0, "of this run")
    assert (run / "job.log").read_text().split("\n") == ["True", "True", "of this run", ""]
    assert {line.event.nonce for line in read_lines(run)} == {"of this run"}


def test_a_run_that_is_retired_has_its_end_on_record_and_is_no_pass(tmp_path):
    run, start = toy(tmp_path, f"{ESCAPE}time.sleep(600)", name="rekindle/runs/toy-0123456789ab")
    start()
    pid, supervisor = child_pid(run), supervisor_of(run)
    assert find_running(tmp_path / "rekindle") == ["toy-0123456789ab"]
    end_processes(tmp_path / "rekindle")
    assert_gone(pid)
    assert_gone(supervisor.pid)
    assert read_record(run / "ended.json", RunEnd).reason == "interrupted"
    assert judge_run(run).verdict != "PASS"


def test_each_run_here_has_another_nonce(tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(run_here, "pack_payload", lambda *args: b"")
    monkeypatch.setattr(run_here, "write_payload", lambda *args: "")
    monkeypatch.setattr(run_here.subprocess, "run", lambda *args, input, **kwargs: sent.append(input))
    job = load_job(REPOSITORY / "flare_jobs", "pt_ddp")
    for _ in range(2):
        recorded = Path(__file__).parents[2] / "recordings" / "h200-x2"
        assert run_here.start_here(job, REPOSITORY / "flare_jobs", recorded, tmp_path) is None
    first, second = (msgspec.json.decode(encoded, type=RunSpec).nonce for encoded in sent)
    assert len({first, second, ""}) == 3


def test_a_job_gets_no_secret_and_its_files_are_for_their_owner_alone(tmp_path, monkeypatch):
    secret = {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "ANSIBLE_BECOME_PASSWORD", "db_passwd"}
    for name in {*secret, "TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEYS"}:
        monkeypatch.setenv(name, "CANARY")
    code = "import os; print(*os.environ.items(), open(f'/proc/{os.getppid()}/environ').read(), sep='\\n')"
    run, start = toy(tmp_path, code)
    start()
    log = wait_for(wait_for_end(run) / "job.log").read_text()
    assert "REKINDLE_EVIDENCE" in log
    assert "PATH=" in log, "the supervisor's own are not there"
    assert re.findall(r"(\w+)\W+CANARY", log) == ["TOKENIZERS_PARALLELISM"] * 2
    assert [path for path in [run, *run.rglob("*")] if path.stat().st_mode & 0o077] == []


def test_an_orphan_that_has_ended_is_reaped_so_that_its_process_group_ends(tmp_path):
    run, start = toy(tmp_path, ORPHAN, limit_s=20)
    assert start() is True
    assert read_record(wait_for_end(run) / "ended.json", RunEnd).reason == "finished"
    assert "the group has ended" in (run / "job.log").read_text()


def test_at_the_limit_even_a_stopped_process_that_ignores_sigterm_is_ended(tmp_path):
    # It stops from 3 s on, after 5 s of which it is hung: a busy host has until the limit to come there.
    run, start = toy(tmp_path, f"import time\ntime.sleep(3)\n{STUBBORN}", limit_s=8)
    start()
    pid = child_pid(run)
    assert judge_run(wait_for_end(run)).verdict == "HUNG"
    assert read_record(run / "ended.json", RunEnd).reason == "limit"
    assert_gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_that_is_stopped_twice_still_writes_its_records(tmp_path, number):
    run, start = toy(tmp_path, STUBBORN)
    start()
    pid, supervisor = child_pid(run), supervisor_of(run)
    while supervisor.is_running() and supervisor.status() != psutil.STATUS_ZOMBIE:
        with suppress(psutil.NoSuchProcess):
            supervisor.send_signal(number)
        time.sleep(0.1)
    assert judge_run(run).verdict == "FAIL"
    assert read_record(run / "progress.json", Progress).state == "ended"
    assert not (run / "driver.log").read_text()
    assert_gone(pid)


def test_a_signal_between_two_steps_interrupts_the_next():
    code = """
import os, signal
from rekindle.driver.supervisor import _Interrupted, _interruptible
with _interruptible():
    pass
os.kill(os.getpid(), signal.SIGTERM)
print("in peace")
try:
    with _interruptible():
        print("not interrupted")
except _Interrupted:
    print("interrupted")
"""
    done = capture_command([sys.executable, "-c", code], check=True)
    assert done.stdout.split("\n")[:2] == ["in peace", "interrupted"]
