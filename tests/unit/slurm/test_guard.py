# SPDX-License-Identifier: Apache-2.0
"""What a driver leaves that is killed in an allocation, with real processes in the place of its own."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from runners.toys import assert_gone, toy, wait_for
from runners.waits import until
from stand_ins.slurm import stand_in

from rekindle.records import Allocation, RunSpec, read_record, write_record

RECORDED = Path(__file__).parents[2] / "recordings/runs/pt_ddp-cpu-2/spec.json"
SOURCE = str(Path(__file__).parents[3] / "src")
SLEEPS = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
file = pathlib.Path(sys.argv[1])
file.with_suffix(".new").write_text(str(os.getpid()))
file.with_suffix(".new").rename(file)
time.sleep(600)
"""
LEAVES = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]])"
DRIVER = """
import subprocess, sys, time
from pathlib import Path
from rekindle.driver.places import find_place
from rekindle.records.layout import spec_in
from rekindle.driver.processes import adopt_orphans

run, sleeps, leaves, ends = Path(sys.argv[1]), *sys.argv[2:]
with find_place(run, spec_in(run)).guard():
    adopt_orphans()
    python = [sys.executable, "-c"]
    subprocess.Popen([*python, sleeps, run / "near.pid"], close_fds=False)
    subprocess.Popen([*python, sleeps, run / "away.pid"], start_new_session=True)
    subprocess.run([*python, leaves, sleeps, run / "orphan.pid"], start_new_session=True)
    while not all((run / f"{name}.pid").exists() for name in ("near", "away", "orphan")):
        time.sleep(0.05)
    (run / "started").write_text("yes")
    if ends == "fails":
        raise RuntimeError("of the driver's own")
    while ends == "never":
        time.sleep(0.05)
"""


@pytest.fixture
def run(tmp_path):
    """Return the folder of a run that is to be in an allocation."""
    run = tmp_path / "runs/toy-0123456789ab"
    run.mkdir(parents=True)
    asked = Allocation(room="slurm", partition="gpu", nodes=2, time="01:00:00")
    write_record(
        run / "spec.json", replace(read_record(RECORDED, RunSpec), nonce="of this", allocation=asked)
    )
    return run


@pytest.fixture
def environ(tmp_path):
    """Return the variables of the allocation's first node."""
    return {"PYTHONPATH": SOURCE, **stand_in(tmp_path / "slurm", "n9", ("n9", "n10"))}


@pytest.fixture
def start(tmp_path, environ):
    """Start processes on the node, which are killed at last if the test has not ended them."""
    started = []

    def start(code, *words, **more):
        command = [sys.executable, "-c", code, *map(str, words)]
        started.append(subprocess.Popen(command, env={**environ, **more}, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(timeout=30)
    children = [int(path.read_text()) for path in tmp_path.rglob("*.pid")]
    for pid in (*children, *(guard.pid for guard in _guards(tmp_path))):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _guards(folder):
    """Return the guards of runs in a folder."""
    found = ((process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [
        process
        for process, words in found
        if words[1:3] == ["-m", "rekindle.slurm.guard"] and words[3].startswith(str(folder))
    ]


def _driver(run, start, ends):
    """Start what is like a driver; returns it and its children once these are there."""
    driver = start(DRIVER, run, SLEEPS, LEAVES, ends)
    wait_for(run / "started", limit_s=60)
    return driver, {name: int((run / f"{name}.pid").read_text()) for name in ("near", "away", "orphan")}


def _kill(driver, run):
    """Kill what is like a driver, and wait until its guard has ended too."""
    driver.kill()
    driver.wait(timeout=30)
    until(lambda: not _guards(run))


def test_all_that_a_killed_driver_left_is_ended(run, start):
    driver, left = _driver(run, start, ends="never")
    (guard,) = _guards(run)
    assert guard.pid not in [process.pid for process in psutil.Process(driver.pid).children(recursive=True)]
    assert os.getsid(guard.pid) != os.getsid(driver.pid)
    guard.terminate()  # as SLURM does to all known processes of a cancelled job
    _kill(driver, run)
    for pid in left.values():
        assert_gone(pid)


def test_a_driver_that_ends_has_its_guard_go_and_do_nothing(run, start):
    driver, left = _driver(run, start, ends="now")
    assert driver.wait(timeout=30) == 0
    until(lambda: not _guards(run))
    assert all(psutil.pid_exists(pid) for pid in left.values())


def test_what_others_run_on_the_node_goes_on(run, start):
    """Such as the next start of the same run, which is another job of SLURM's."""
    words = (SLEEPS, run / "next.pid")
    others = [
        start(*words, REKINDLE_RUN=str(run), SLURM_JOB_ID="8"),
        start(SLEEPS, run / "other.pid", REKINDLE_RUN=f"{run}-other"),
    ]
    for name in ("next", "other"):
        wait_for(run / f"{name}.pid", limit_s=60)
    driver, left = _driver(run, start, ends="never")
    _kill(driver, run)
    assert_gone(left["away"])
    assert [process.poll() for process in others] == [None, None]


STEP = """
import os, sys
options = ["--nodes=1", "--nodelist=n10", "--job-name=rekindle-of this"]
os.execvp("srun", ["srun", *options, sys.executable, "-c", *sys.argv[1:]])
"""


def test_the_runs_steps_are_ended_too(run, start, environ):
    """Also steps without a process of the driver on this node."""
    step = start(STEP, SLEEPS.replace("SIG_IGN", "SIG_DFL"), run / "step.pid")
    wait_for(run / "step.pid", limit_s=60)
    until(lambda: list(Path(environ["SLURM_STAND_IN"]).glob("step-*")))
    driver, _ = _driver(run, start, ends="never")
    _kill(driver, run)
    step.wait(timeout=30)
    assert not list(Path(environ["SLURM_STAND_IN"]).glob("step-*"))


def test_a_run_on_a_host_of_its_own_has_no_guard(run, start):
    write_record(run / "spec.json", replace(read_record(run / "spec.json", RunSpec), allocation=None))
    _driver(run, start, ends="never")
    assert _guards(run) == []


JOB = f"""
import os, pathlib, subprocess, sys, time
folder = pathlib.Path("..")
subprocess.Popen([sys.executable, "-c", {SLEEPS!r}, folder / "child.pid"], start_new_session=True)
time.sleep(600)
"""


def test_a_driver_has_its_guard_where_slurm_runs_it(tmp_path, queue, start):
    slurm = Allocation(room="slurm", partition="gpu", nodes=1, time="01:00:00")
    run, submit = toy(tmp_path, JOB, name="rekindle/runs/toy-0123456789ab", allocation=slurm)
    assert submit() is True
    driver = start(
        "from rekindle.driver.__main__ import main; main()", "supervise", run, SLURM_JOB_NODELIST="n9"
    )
    child = int(wait_for(run / "child.pid", limit_s=60).read_text())
    _kill(driver, run)
    assert_gone(child)
    assert not (run / "ended.json").exists()
