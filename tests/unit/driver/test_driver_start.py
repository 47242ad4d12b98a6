"""When the driver starts a run: one that neither runs nor has passed, on a host that runs no other."""

import fcntl
import os
import runpy
import subprocess
import sys
from functools import partial

import msgspec
import pytest
from toys import STUBBORN, assert_gone, child_pid, supervisor_of, toy, wait_for, wait_for_end

from rekindle.records import Ended, Participant, Progress, RunSpec, VerdictRecord, read, write


def _counting(tmp_path):
    """Return a job.py that counts its starts, and ends once there is tmp_path/go."""
    return f"""
import os, time
open("count", "a").write("x")
while not os.path.exists({str(tmp_path / "go")!r}):
    time.sleep(0.05)
"""


def _start_again(run, start, verdict):
    """Call start on an ended run that has ``verdict``; returns whether it started."""
    record = read(wait_for_end(run) / "verdict.json", VerdictRecord)
    write(run / "verdict.json", msgspec.structs.replace(record, verdict=verdict))
    return start()


def test_what_runs_or_has_passed_is_not_started_again(tmp_path):
    run, start = toy(tmp_path, _counting(tmp_path))
    assert [start(), start()] == [True, False]
    (tmp_path / "go").touch()
    assert _start_again(run, start, "PASS") is False
    assert (run / "job" / "count").read_text() == "x"
    assert (run / "driver.lock").exists()


@pytest.fixture
def says_passed(monkeypatch, capsys):
    """Return whether ``rekindle.driver.passed`` says so of a run."""

    def ask(run, nonce="of this run"):
        monkeypatch.setattr(sys, "argv", ["passed", str(run), nonce])
        runpy.run_module("rekindle.driver.passed", run_name="__main__")
        return {"passed\n": True, "\n": False}[capsys.readouterr().out]

    return ask


def test_a_run_has_passed_only_at_its_end_with_a_pass_under_the_nonce_that_is_sent(tmp_path, says_passed):
    assert not says_passed(tmp_path)
    run, start = toy(tmp_path, _counting(tmp_path))
    start()
    wait_for(run / "progress.json")
    assert not says_passed(run)
    (tmp_path / "go").touch()
    verdict = read(wait_for_end(run) / "verdict.json", VerdictRecord)
    assert not says_passed(run)
    write(run / "verdict.json", msgspec.structs.replace(verdict, verdict="PASS"))
    assert says_passed(run)
    assert not says_passed(run, nonce="b" * 32)
    with (run / "driver.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not says_passed(run)
    ended = read(run / "progress.json", Progress)
    write(run / "progress.json", msgspec.structs.replace(ended, state="running"))
    assert not says_passed(run)


def test_a_pass_counts_under_the_nonce_that_is_sent_alone(tmp_path):
    run, start = toy(tmp_path, _counting(tmp_path))
    assert [start(nonce="a" * 32), start(nonce="b" * 32)] == [True, False]  # what runs is followed
    (tmp_path / "go").touch()
    assert _start_again(run, partial(start, nonce="a" * 32), "PASS") is False
    assert start(nonce="b" * 32) is True
    assert read(wait_for_end(run) / "spec.json", RunSpec).nonce == "b" * 32


def test_what_passed_and_was_killed_before_its_last_record_has_ended_and_starts_again_if_asked(tmp_path):
    run, start = toy(tmp_path, "pass")
    start()
    ended = read(wait_for_end(run) / "progress.json", Progress)
    write(run / "progress.json", msgspec.structs.replace(ended, state="running"))
    assert _start_again(run, start, "PASS") is False
    assert read(run / "progress.json", Progress).state == "ended"
    assert start("restart") is True
    assert read(wait_for_end(run) / "verdict.json", VerdictRecord).verdict == "UNPROVEN"


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
    wait_for(run / "verdict.json")


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
    assert _start_again(run, start, "HUNG") is True
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
    mine = Participant(
        role="site", name="gpu-1", kit="/nowhere", address="cpu-1", port=8002, sites=("gpu-1",), min_sites=1
    )
    run, start = toy(tmp_path, "open('began', 'w')", participant=mine)
    start()
    wait_for(run / "ended.json")
    assert (run / "job.log").read_text().startswith("gpu-1: The kit has no file /nowhere/startup/")
    assert not (run / "job/began").exists()
    assert read(run / "ended.json", Ended).exit_status == 1
