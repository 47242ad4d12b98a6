"""The driver on a job that is a few lines of Python: it starts, follows, ends and leaves nothing behind."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pytest
import run_here

from rekindle.host.leftovers import end_processes, running
from rekindle.host.payload import packed, written
from rekindle.jobs import load_job
from rekindle.records import Claim, Ended, Job, Progress, RunSpec, Site, VerdictRecord, read
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
STUBBORN = """
import os, signal, subprocess, sys, time
code = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print(flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.read(1)
os.kill(child.pid, signal.SIGSTOP)
open("child.pid", "w").write(str(child.pid))
time.sleep(600)
"""


def _start(tmp_path, script, limit_s=60, silence_s=60, name="a run's folder", **of_spec):
    jobs, example = tmp_path / "jobs", of_spec.pop("example", None)
    python = of_spec.pop("python", sys.executable)
    (jobs / "toy").mkdir(parents=True)
    (jobs / "toy" / "job.py").write_text(script)
    job = Job(
        schema="rekindle/job/1",
        name="toy",
        summary="",
        example=example,
        environment="torch",
        sites=1,
        ranks_per_site=1,
        rounds=1,
        when_short_of_gpus="share",
        limit_s=limit_s,
        proof=(Claim(claim="loss_falls"),),
    )
    run = tmp_path / name
    spec = RunSpec(
        schema="rekindle/spec/3" if example else "rekindle/spec/2",
        nonce="of this run",
        host="h",
        job=job,
        sites=(Site(name="site-1", ranks=1, gpus=()),),
        python=python,
        lock_sha256="0" * 64,
        versions={},
        tmpdir=str(run.parents[1] / "tmp" if run.parent.name == "runs" else tmp_path),
        silence_s=silence_s,
        **of_spec,
    )
    environ = {**os.environ, "PYTHONPATH": str(written(packed(jobs), tmp_path / "payload"))}

    def start(verb="start", nonce="of this run"):
        command = [sys.executable, "-m", "rekindle.driver", verb, str(run)]
        given = msgspec.json.encode(msgspec.structs.replace(spec, nonce=nonce))
        done = subprocess.run(command, input=given, env=environ, capture_output=True, check=True, timeout=30)
        return {b"started\n": True, b"": False}[done.stdout]

    return run, start


def _wait_for(path: Path, limit_s=300):
    end = time.monotonic() + limit_s
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.05)
    return path


def _wait_for_end(run, limit_s=300):
    """Return the run's folder once its supervisor has let go of it."""
    end = time.monotonic() + limit_s
    while True:
        with suppress(OSError), (run / "driver.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return run
        assert time.monotonic() < end, "the supervisor goes on"
        time.sleep(0.05)


def _pid(run):
    return int(_wait_for(run / "job" / "child.pid").read_text())


def _assert_gone(pid):
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=5)
    assert not psutil.pid_exists(pid)


def _supervisor(run):
    (found,) = [p for p in psutil.process_iter(["cmdline"]) if str(run) in (p.info["cmdline"] or [])]
    return found


OUTPUT_AND_NONCE = """
import os, stat, time
for number in (1, 2):  # a pipe that breaks makes NVFlare's logging call itself at every site
    print(stat.S_ISREG(os.fstat(number).st_mode), flush=True)
print(os.environ["REKINDLE_NONCE"])
time.sleep(1)
"""


def test_a_job_that_exits_0_and_proves_nothing_is_no_pass_and_all_of_it_has_its_nonce(tmp_path):
    run, start = _start(tmp_path, OUTPUT_AND_NONCE)
    assert start() is True
    assert read(_wait_for_end(run) / "verdict.json", VerdictRecord).verdict == "UNPROVEN"
    ended = read(run / "ended.json", Ended)
    assert (ended.exit_status, ended.nonce) == (0, "of this run")
    assert (run / "job.log").read_text().split("\n") == ["True", "True", "of this run", ""]
    assert {line.event.nonce for line in read_lines(run)} == {"of this run"}


def test_a_run_that_is_retired_is_judged_before_its_processes_end(tmp_path):
    run, start = _start(tmp_path, f"{ESCAPE}time.sleep(600)", name="rekindle/runs/toy-0123456789ab")
    start()
    pid, supervisor = _pid(run), _supervisor(run)
    assert running(tmp_path / "rekindle") == ["toy-0123456789ab"]
    end_processes(tmp_path / "rekindle")
    _assert_gone(pid)
    _assert_gone(supervisor.pid)
    assert read(run / "ended.json", Ended).reason == "interrupted"
    assert read(run / "verdict.json", VerdictRecord).verdict != "PASS"


def test_each_run_here_has_another_nonce(tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(run_here, "packed", lambda *args: b"")
    monkeypatch.setattr(run_here, "written", lambda *args: "")
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
    run, start = _start(tmp_path, code)
    start()
    log = _wait_for(_wait_for_end(run) / "job.log").read_text()
    assert "REKINDLE_EVIDENCE" in log
    assert "PATH=" in log, "the supervisor's own are not there"
    assert re.findall(r"(\w+)\W+CANARY", log) == ["TOKENIZERS_PARALLELISM"] * 2
    assert [path for path in [run, *run.rglob("*")] if path.stat().st_mode & 0o077] == []


def test_an_orphan_that_has_ended_is_reaped_so_that_its_process_group_ends(tmp_path):
    run, start = _start(tmp_path, ORPHAN, limit_s=20)
    assert start() is True
    assert read(_wait_for_end(run) / "ended.json", Ended).reason == "finished"
    assert "the group has ended" in (run / "job.log").read_text()


def test_at_the_limit_even_a_stopped_process_that_ignores_sigterm_is_ended(tmp_path):
    run, start = _start(tmp_path, STUBBORN, limit_s=2)
    start()
    pid = _pid(run)
    verdict = read(_wait_for(run / "verdict.json"), VerdictRecord)
    assert verdict.verdict == "HUNG"
    assert "stopped" in verdict.cause
    assert read(run / "ended.json", Ended).reason == "limit"
    _assert_gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_that_is_stopped_twice_still_writes_its_records(tmp_path, number):
    run, start = _start(tmp_path, STUBBORN)
    start()
    pid, supervisor = _pid(run), _supervisor(run)
    while supervisor.is_running() and supervisor.status() != psutil.STATUS_ZOMBIE:
        with suppress(psutil.NoSuchProcess):
            supervisor.send_signal(number)
        time.sleep(0.1)
    assert read(run / "verdict.json", VerdictRecord).verdict == "FAIL"
    assert read(run / "progress.json", Progress).state == "ended"
    assert not (run / "driver.log").read_text()
    _assert_gone(pid)


def test_a_signal_between_two_steps_interrupts_the_next():
    code = """
import os, signal
from rekindle.driver.supervise import _Interrupted, _interruptible
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["in peace", "interrupted"]
