# SPDX-License-Identifier: Apache-2.0
"""The clock of a run that SLURM suspends, and a run that it suspended for longer than its limit."""

import os
import signal
import sys
import time

import psutil
import pytest
from runners.toys import toy
from runners.waits import until
from stand_ins.slurm import stand_in

from rekindle.records import Allocation, RunEnd, read_record
from rekindle.slurm import clock


@pytest.fixture
def moment(monkeypatch):
    """Return what sets the time, and when SLURM last suspended or resumed the run."""
    known = {"at": 0.0, "resumed": ""}
    monkeypatch.setattr(clock.time, "monotonic", lambda: known["at"])
    monkeypatch.setattr(clock.time, "time", lambda: 1000 + known["at"])
    monkeypatch.setattr(clock, "find_resumed", lambda folder: known["resumed"])
    return known


def test_it_stands_while_the_run_is_suspended(moment, tmp_path):
    running = clock.SuspendedClock(tmp_path)
    moment["at"] = 1.0
    assert running.read() == 1
    moment.update(at=601.0, resumed="12:00")
    assert running.read() == 1
    moment["at"] = 602.0
    assert running.read() == 2
    moment.update(at=702.0, resumed="13:00")
    assert running.read() == 2
    assert [(span.since, span.until) for span in running.suspensions] == [(1001, 1601), (1602, 1702)]


@pytest.mark.parametrize("resumed", ["", "11:00"])
def test_a_host_that_hangs_was_not_suspended(moment, tmp_path, resumed):
    moment["resumed"] = resumed
    running = clock.SuspendedClock(tmp_path)
    moment.update(at=600.0, resumed="")  # SLURM has nothing new, or does not answer
    assert running.read() == 600
    moment.update(at=1200.0, resumed=resumed)
    assert running.read() == 1200
    assert running.suspensions == []


JOB = """
import pathlib, time
pathlib.Path("begun").touch()
for _ in range(30):
    time.sleep(0.1)
"""
SCONTROL = """#!/bin/sh
case "$*" in *" job "*) cat {state} ;; *) echo n9 ;; esac
"""


@pytest.mark.parametrize(("resumed", "reason"), [("2026-11-24T17:51:09", "finished"), ("None", "limit")])
def test_a_run_may_be_suspended_for_longer_than_its_limit(tmp_path, queue, resumed, reason):
    asked = Allocation(room="slurm", partition="gpu", nodes=1, time="01:00:00")
    run, start = toy(tmp_path, JOB, limit_s=8, silence_s=6, name="rekindle/runs/toy-0", allocation=asked)
    assert start() is True
    environ = stand_in(tmp_path / "slurm", "n9", ("n9",))
    state, scontrol = tmp_path / "state", tmp_path / "slurm/bin/scontrol"
    state.write_text("JobId=77 SuspendTime=None")
    scontrol.write_text(SCONTROL.format(state=state))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ}
    driver = psutil.Popen([sys.executable, "-m", "rekindle.driver", "supervise", str(run)], env=environ)
    until((run / "job/begun").exists)
    together = [driver, *driver.children(recursive=True)]
    for process in together:
        process.send_signal(signal.SIGSTOP)
    state.write_text(f"JobId=77 SuspendTime={resumed}")
    time.sleep(10)
    for process in together:
        process.send_signal(signal.SIGCONT)
    driver.wait(60)
    ended = read_record(run / "ended.json", RunEnd)
    assert ended.reason == reason
    assert ended.duration_s > 10
    assert [9 < span.until - span.since < 14 for span in ended.suspensions] == [True] * (reason == "finished")
