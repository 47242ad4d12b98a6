# SPDX-License-Identifier: Apache-2.0
"""When the driver starts a run: one that neither runs nor has ended well, on a host that runs no other."""

import fcntl
import os
import runpy
import subprocess
import sys

import pytest
from msgspec.structs import replace
from runners.toys import STUBBORN, assert_gone, child_pid, supervisor_of, toy, wait_for, wait_for_end

from rekindle.federation.records import Participant, make_member
from rekindle.records import Progress, RunEnd, RunSpec, read_record, write_record


def _counting(tmp_path):
    """Return a job.py that counts its starts, and ends once there is tmp_path/go."""
    return f"""
import os, time
open("count", "a").write("x")
while not os.path.exists({str(tmp_path / "go")!r}):
    time.sleep(0.05)
"""


def _ended(run, **fields):
    """Have an ended run end with other ``fields``."""
    record = read_record(wait_for_end(run) / "ended.json", RunEnd)
    write_record(run / "ended.json", replace(record, **fields))


def test_what_ended_otherwise_than_well_is_started_again(tmp_path):
    run, start = toy(tmp_path, "pass")
    start()
    wait_for_end(run)
    reasons = ({"reason": reason} for reason in ("hung", "interrupted", "limit"))
    for end in ({"exit_status": 1}, {"exit_status": -9}, *reasons):
        _ended(run, **end)
        assert start() is True, end
        assert read_record(wait_for_end(run) / "ended.json", RunEnd).exit_status == 0


@pytest.fixture
def says_finished(monkeypatch, capsys):
    """Return whether ``rekindle.driver.outcome`` says so of a run."""

    def ask(run, nonce="of this run"):
        monkeypatch.setattr(sys, "argv", ["outcome", str(run), nonce])
        runpy.run_module("rekindle.driver.outcome", run_name="__main__")
        return {"finished\n": True, "\n": False}[capsys.readouterr().out]

    return ask


def test_a_run_has_finished_only_at_its_good_end_under_the_nonce_that_is_sent(tmp_path, says_finished):
    assert not says_finished(tmp_path)
    run, start = toy(tmp_path, _counting(tmp_path))
    start()
    wait_for(run / "progress.json")
    assert not says_finished(run)
    (tmp_path / "go").touch()
    wait_for_end(run)
    assert says_finished(run)
    _ended(run, exit_status=1)
    assert not says_finished(run)
    _ended(run, exit_status=0)
    assert says_finished(run)
    assert not says_finished(run, nonce="b" * 32)
    with (run / "driver.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not says_finished(run)
    ended = read_record(run / "progress.json", Progress)
    write_record(run / "progress.json", replace(ended, state="running"))
    assert not says_finished(run)


def test_what_runs_is_not_started_again_nor_what_ended_well_under_the_nonce_that_is_sent(tmp_path):
    run, start = toy(tmp_path, _counting(tmp_path))
    assert [start(nonce="a" * 32), start(nonce="b" * 32)] == [True, False]  # what runs is followed
    (tmp_path / "go").touch()
    wait_for_end(run)
    assert start(nonce="a" * 32) is False
    assert (run / "job" / "count").read_text() == "x"
    assert (run / "driver.lock").exists()
    assert start(nonce="b" * 32) is True
    assert read_record(wait_for_end(run) / "spec.json", RunSpec).nonce == "b" * 32


def test_what_was_killed_before_its_last_record_has_ended_and_starts_again_if_asked(tmp_path):
    run, start = toy(tmp_path, "pass")
    start()
    ended = read_record(wait_for_end(run) / "progress.json", Progress)
    first = read_record(run / "ended.json", RunEnd)
    write_record(run / "progress.json", replace(ended, state="running"))
    assert start() is False
    assert read_record(run / "progress.json", Progress).state == "ended"
    assert start("restart") is True
    assert read_record(wait_for_end(run) / "progress.json", Progress).state == "ended"
    assert read_record(run / "ended.json", RunEnd).started > first.started


def test_a_run_whose_supervisor_was_killed_is_cleared_away_and_started_again(tmp_path):
    run, start = toy(tmp_path, "open('count', 'a').write('x')\n" + STUBBORN)
    start()
    left = child_pid(run)
    supervisor_of(run).kill()
    (run / "job" / "child.pid").unlink()
    assert start() is True
    assert_gone(left)
    assert child_pid(run) != left
    assert (run / "job" / "count").read_text() == "x"
    assert start() is False
    supervisor_of(run).terminate()
    wait_for(run / "ended.json")


def test_what_killed_runs_had_in_tmpdir_is_cleared_away(tmp_path):
    tmp = tmp_path / "rekindle" / "tmp"
    for name in ("pymp-x/listener", "ansible/tmp-1"):
        (tmp / name).mkdir(parents=True)
    (tmp / "core").touch()
    (tmp / "link").symlink_to(tmp_path)
    run, start = toy(tmp_path, "pass", name="rekindle/runs/toy-0123456789ab")
    builder = tmp_path / "rekindle/logs/environments/lock"
    builder.parent.mkdir(parents=True)
    with builder.open("w") as lock:  # whose files are there too
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert start() is True
        assert {path.name for path in tmp.iterdir()} >= {"pymp-x", "ansible", "core", "link"}
    _ended(run, reason="hung")
    assert start() is True
    assert {path.name for path in tmp.iterdir()} == {"ansible"}
    assert (tmp / "ansible/tmp-1").exists()
    assert tmp_path.exists()


def test_one_job_runs_on_a_host_at_a_time(tmp_path):
    run, start = toy(tmp_path, "pass", name="rekindle/runs/toy-0123456789ab")
    other = run.with_name("toy-ba9876543210")
    other.mkdir(parents=True)
    environ = {**os.environ, "REKINDLE_EVIDENCE": str(other / "evidence")}
    with (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environ) as trainer,
        (other / "driver.lock").open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(subprocess.CalledProcessError) as refused:
            start()
        assert refused.value.stderr.startswith(b"toy-ba9876543210 still runs on the host, and one job")
        assert trainer.poll() is None
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert start() is True  # and what the other's supervisor left, as it was killed, is ended
        assert trainer.wait(10) != 0


def test_a_host_of_a_federation_whose_kit_is_no_good_does_not_start_its_job(tmp_path):
    """NVFlare 2.9 would wait forever, and log nothing."""
    mine = Participant(role="site", kit="/nowhere", address="cpu-1", port=8002, sites=("gpu-1",))
    run, start = toy(tmp_path, "open('began', 'w')", member=make_member("gpu-1", 1, mine))
    start()
    wait_for(run / "ended.json")
    assert (run / "job.log").read_text().startswith("gpu-1: The kit has no file /nowhere/startup/")
    assert not (run / "job/began").exists()
    assert read_record(run / "ended.json", RunEnd).exit_status == 1
