# SPDX-License-Identifier: Apache-2.0
"""The driver of a run over several nodes, with a stand-in for SLURM that has them all on this machine."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from runners.toys import assert_gone, toy
from runners.waits import until
from stand_ins.slurm import stand_in

from rekindle.driver.command import make_job_environment
from rekindle.driver.places import find_place
from rekindle.driver.processes import find_members
from rekindle.driver.snapshot import Process, Snapshot
from rekindle.driver.watchdog import STOPPED_S, Watchdog
from rekindle.judge import judge_run
from rekindle.records import Allocation, RunEnd, RunSpec, Site, read_record, write_record

NODES = ("n9", "n10")
SOURCE = str(Path(__file__).parents[3] / "src")
STUBBORN = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print(flush=True); time.sleep(600)"
TASK = """
import os, pathlib, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.read(1)
os.kill(child.pid, signal.SIGSTOP)
node = os.environ["SLURMD_NODENAME"]
pathlib.Path(f"{node}.pids").write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""
JOB = f"""
import os, pathlib, subprocess, sys, time
words = ["--nodes=2", "--job-name=rekindle-" + os.environ["REKINDLE_NONCE"], sys.executable, "-c"]
environ = {{**os.environ, "REKINDLE_SITE": "site-1"}}
step = subprocess.Popen(["srun", *words, {TASK!r}, {STUBBORN!r}], env=environ)
seen = False
while not seen:
    time.sleep(0.05)
    pids = " ".join(path.read_text() for path in pathlib.Path().glob("n*.pids")).split()
    samples = [path.read_text() for path in pathlib.Path("..").glob("samples-*.jsonl")]
    seen = len(pids) == 4 and len(samples) == 2 and all(pid in text for pid in pids for text in samples)
"""


@pytest.fixture
def allocation(tmp_path, monkeypatch):
    """Have this be the first of two nodes."""
    environ = stand_in(tmp_path / "slurm", "n9", NODES)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return Path(environ["SLURM_STAND_IN"])


@pytest.fixture
def ended(tmp_path, allocation):
    """Return what has SLURM run a job.py on both nodes, and returns the run's folder and how it ended."""

    def ended(script):
        asked = Allocation(room="slurm", partition="gpu", nodes=2, time="01:00:00")
        run, start = toy(tmp_path, script, name="runs/run", allocation=asked)
        assert start() is True
        progress = run / "progress.json"
        until(lambda: progress.exists() and '"ended"' in progress.read_text(), 120)
        until((run / "ended.json").exists, 120)
        return run, read_record(run / "ended.json", RunEnd)

    return ended


def test_each_node_has_its_samples_and_nothing_is_left_on_any(ended, allocation):
    run, end = ended(JOB)
    assert end.reason == "finished"
    assert not (run / "samples.jsonl").exists()
    worked = {}
    for node in NODES:
        lines = [json.loads(line) for line in (run / f"samples-{node}.jsonl").read_text().splitlines()]
        worked[node] = {pid for line in lines for pid in line["worked"].get("site-1", {}).get("pids", ())}
        for pid in (run / "job" / f"{node}.pids").read_text().split():
            assert int(pid) in worked[node]
            assert_gone(int(pid))
    assert list(allocation.glob("step-*")) == []
    assert "--job-name=rekindle-of this run-samplers --nodelist=n10" in (allocation / "calls").read_text()


def test_a_run_that_has_to_be_ended_has_an_autopsy_of_every_node(ended, allocation):
    run, end = ended(JOB.replace("while not seen:", "while True:"))
    assert end.reason == "hung"
    files = {path.name for path in (run / "autopsy").iterdir()}
    assert {"processes.txt", "processes-n10.txt", "stacks-n10.txt"} <= files
    assert "logs-n10.txt" not in files
    (pid, _) = (run / "job/n10.pids").read_text().split()
    assert f"{pid} of " in (run / "autopsy/processes-n10.txt").read_text()
    assert "rekindle-of this run-autopsy" in (allocation / "calls").read_text()
    assert list(allocation.glob("step-*")) == []


def test_a_node_that_is_stopped_ends_what_the_run_left_there(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    spec = _spec(tmp_path)
    write_record(run / "spec.json", spec)
    environ = {**os.environ, "PYTHONPATH": SOURCE, "SLURMD_NODENAME": "n10"}
    marked = {**environ, "REKINDLE_EVIDENCE": f"{run}/evidence", "REKINDLE_SITE": "site-1"}
    words = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(words, env=marked, stdout=subprocess.PIPE, start_new_session=True) as left:
        assert left.stdout.read(1)
        assert [process.pid for process in find_members(run)] == [left.pid]
        command = [sys.executable, "-m", "rekindle.slurm", "watch", str(run)]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as watch:
            seen = json.loads(watch.stdout.readline())
            assert (seen["node"], [process["pid"] for process in seen["processes"]]) == ("n10", [left.pid])
            watch.send_signal(signal.SIGTERM)
        assert watch.returncode == 0
        assert left.wait(timeout=10) == -signal.SIGKILL
    assert "site-1" in (run / "samples-n10.jsonl").read_text()


def test_a_stopped_process_of_another_node_is_named_with_it(tmp_path):
    spec = _spec(tmp_path)
    nodes, here = find_place(tmp_path, spec).nodes(), Process(7, "server", "S", nvflare="server")
    there = Process(7, "site-1 client.py", "T", site="site-1")
    line = msgspec.json.encode({"node": "n10", "processes": [there], "gpus": {}}) + b"\n"
    reads = threading.Thread(target=nodes._read, args=([b"half a li", line],))
    reads.start()
    reads.join()
    dog = Watchdog(spec, Snapshot(0.0))
    dog.look(*nodes.join(Snapshot(1.0, (here,)), {}))
    now, _ = nodes.join(Snapshot(2.0 + STOPPED_S, (here,)), {})
    assert now.processes == (here, replace(there, node="n10"))
    message = f"Process 7 on n10 (site-1 client.py) is stopped (SIGSTOP) for {1 + STOPPED_S:.0f} s."
    assert dog.look(now, {}) == message


def test_steps_that_squeue_does_not_list_are_waited_for_no_longer_than_the_limit(tmp_path, monkeypatch):
    (tmp_path / "squeue").write_text("#!/bin/sh\necho asked >> asked\nexit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("rekindle.slurm.allocation._END_LIMIT_S", 0.5)
    find_place(tmp_path, _spec(tmp_path)).nodes().end()
    assert (tmp_path / "asked").read_text().count("asked") > 2


def test_without_srun_the_job_is_not_started(tmp_path, ended):
    (tmp_path / "slurm/bin/srun").unlink()
    run, end = ended("open('began', 'w')")
    message = "The driver cannot start the job: No such file or directory."
    assert (end.reason, end.message) == ("interrupted", message)
    assert not (run / "job" / "began").exists()


NO_STEP = (
    "srun: error: Task launch for StepId=7.0 failed on node n10: Zero Bytes were transmitted or received"
)


def test_a_node_that_takes_no_step_ends_the_run_though_its_ranks_hang(tmp_path, ended):
    """As seen on a busy machine, where the clock of the node was wrong."""
    message = f"echo '{NO_STEP}' >&2; echo 'srun: Job step aborted' >&2"
    (tmp_path / "slurm/bin/srun").write_text(f"#!/bin/sh\n{message}\nexit 1\n")
    run, end = ended("import time\ntime.sleep(600)")
    assert (end.reason, end.message) == ("interrupted", f"No sampler started on n10: {NO_STEP}")
    record = judge_run(run)
    cause = "The node n10 did not take a step of SLURM's: Zero Bytes were transmitted or received."
    assert (record.verdict, record.cause) == ("FAIL", cause)


def test_a_run_of_one_machine_stays_on_one_node_of_an_allocation(tmp_path, allocation):
    spec = _spec(tmp_path)
    one = msgspec.structs.replace(spec, nodes=())
    variables = [find_place(tmp_path, of).variables() for of in (spec, one)]
    assert variables == [{"REKINDLE_LAUNCHER": "rekindle.slurm.launch"}, {}]
    assert make_job_environment(tmp_path, spec)["SLURMD_NODENAME"] == "n9"


def _spec(tmp_path, gpus=()):
    recorded = read_record(Path(__file__).parents[2] / "recordings/runs/pt_ddp-cpu-2/spec.json", RunSpec)
    sites = (Site(name="site-1", ranks=4, gpus=gpus),)
    asked = Allocation(room="slurm", partition="gpu", nodes=2, time="01:00:00")
    return msgspec.structs.replace(recorded, nodes=NODES, allocation=asked, sites=sites, tmpdir=str(tmp_path))
