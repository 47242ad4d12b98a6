"""The watchdog and its autopsy on runs that are a few lines of Python, each dead in another way."""

import re

import psutil
import pytest
from test_driver import _assert_gone, _pid, _start, _wait_for

from rekindle.driver import watchdog
from rekindle.records import Ended, VerdictRecord, read
from rekindle.records.events import GpuSample
from rekindle.records.run import RunSpec

CHILD = """
import os, signal, subprocess, sys, time
code = {code!r}
environ = {{**os.environ, "REKINDLE_SITE": "site-1"}}
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, env=environ)
open("child.pid", "w").write(str(child.pid))
{more}
time.sleep(600)
"""
SLEEP = "import time; time.sleep(600)"
ENDED = """
import threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
raise ValueError("shapes differ")
"""
FLOOD = "import time\nwhile True: print('still here', flush=True); time.sleep(0.5)"
STOP = "time.sleep(1); os.kill(child.pid, signal.SIGSTOP)"


def _run(tmp_path, code, more="", silence_s=60, limit_s=60):
    run, start = _start(tmp_path, CHILD.format(code=code, more=more), limit_s, silence_s)
    start()
    return run, _pid(run)


DEAD = {
    "stopped": (SLEEP, STOP, 60, r"Process {pid} \(site-1 .*\) is stopped \(SIGSTOP\) for \d+ s\."),
    "silent": (SLEEP, "", 4, r"Nothing has moved for 4 s: no log line, no evidence, no activity .*"),
    "ended": (ENDED, "", 60, r"The main thread of process {pid} \(site-1 .*\) ended \d+ s ago .*"),
}


@pytest.mark.parametrize("how", DEAD)
def test_a_dead_run_is_ended_with_its_cause_and_an_autopsy(tmp_path, how):
    code, more, silence_s, cause = DEAD[how]
    run, pid = _run(tmp_path, code, more, silence_s)
    verdict = read(_wait_for(run / "verdict.json", 60), VerdictRecord)
    ended = read(run / "ended.json", Ended)
    assert (verdict.verdict, ended.reason) == ("HUNG", "hung")
    assert re.fullmatch(cause.format(pid=pid), ended.says), ended.says
    autopsy = {path.name: path.read_text() for path in (run / "autopsy").iterdir()}
    assert f"{pid} of " in autopsy["processes.txt"]
    assert f"Process {pid}" in autopsy["stacks.txt"]
    assert "MiB free" in autopsy["disk.txt"]
    assert "job.log" in autopsy["logs.txt"]
    _assert_gone(pid)


def test_a_run_that_prints_is_not_silent(tmp_path):
    run, pid = _run(tmp_path, FLOOD, silence_s=3, limit_s=14)
    verdict = read(_wait_for(run / "verdict.json", 60), VerdictRecord)
    assert verdict.cause == "Ended at its limit of 14 s."
    assert (run / "autopsy" / "stacks.txt").exists()
    _assert_gone(pid)


@pytest.fixture
def dog(clean_run, monkeypatch):
    """Return a watchdog with a clock of the test's, over a recorded run and no processes."""
    clock = [0.0]
    monkeypatch.setattr(watchdog.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(watchdog, "descendants", lambda: [])
    dog = watchdog.Watchdog(clean_run, read(clean_run / "spec.json", RunSpec))

    def after(seconds, **gpu):
        clock[0] += seconds
        sample = GpuSample(**{"utilisation": 100, "used_mib": 900, "processes": {"7": 800}, **gpu})
        return dog.look({"GPU-1": sample} if gpu else {})

    return after


def test_gpus_that_work_are_progress_and_gpus_that_wait_for_a_collective_are_not(dog):
    assert [dog(20, memory_utilisation=9) for _ in range(9)] == [None] * 9
    assert [dog(20, memory_utilisation=0, utilisation=4) for _ in range(9)] == [None] * 9
    assert [dog(20, memory_utilisation=0) for _ in range(3)] == [None] * 3
    assert "no activity of the GPUs" in dog(20, memory_utilisation=0)


def test_evidence_is_progress(dog, clean_run):
    for _ in range(9):
        with (clean_run / "evidence/site-1.rank-0.jsonl").open("a") as stream:
            stream.write("{}\n")
        assert dog(50) is None
    assert dog(61) is not None


def test_one_process_in_d_state_is_named(dog, monkeypatch):
    process = psutil.Process()
    monkeypatch.setattr(watchdog, "descendants", lambda: [process])
    monkeypatch.setattr(watchdog, "status", lambda one: psutil.STATUS_DISK_SLEEP)
    assert dog(1) is None
    assert dog(20) is None
    assert f"Process {process.pid}" in dog(11)


def test_a_client_that_nvflares_server_goes_on_without_is_named(dog, monkeypatch):
    simulator = "nvflare.private.fed.app.simulator.simulator"
    client, server = psutil.Process(), psutil.Process()
    monkeypatch.setattr(client, "cmdline", lambda: ["python", f"{simulator}_worker", "--client", "site-2"])
    monkeypatch.setattr(server, "cmdline", lambda: ["python", simulator])
    alive = [client, server]
    monkeypatch.setattr(watchdog, "descendants", lambda: alive)
    assert [dog(6) for _ in range(3)] == [None] * 3
    alive.remove(client)
    assert [dog(6) for _ in range(3)] == [None] * 3
    assert dog(6) == "NVFlare's client of site-2 ended 18 s ago and the job goes on without it."
    alive.remove(server)
    assert dog(6) is None
