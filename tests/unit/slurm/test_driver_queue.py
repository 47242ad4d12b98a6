# SPDX-License-Identifier: Apache-2.0
"""A run that SLURM is to give nodes: start queues it once, and its supervisor learns what it was given."""

import json
import os
import subprocess
import sys

import pytest
from msgspec.structs import replace
from runners.toys import toy
from stand_ins.slurm import stand_in

from rekindle.judge import judge_run
from rekindle.records import Allocation, RunEnd, RunSpec, read_record

SLURM = Allocation(room="slurm", partition="gpu", nodes=2, time="01:00:00", extra=("--exclusive",))


@pytest.fixture
def queued(tmp_path, queue):
    """Return the folder of a run that was queued, and what calls start again."""
    run, start = toy(tmp_path, JOB, name="rekindle/runs/toy-0123456789ab", allocation=SLURM)
    assert start() is True
    return run, start


JOB = """
import os, pathlib
pathlib.Path("seen").write_text(os.environ.get("REKINDLE_LAUNCHER", "none"))
"""


def test_it_is_queued_and_nothing_of_it_runs_here(queued):
    run, _ = queued
    script = (run / "batch.sh").read_text().splitlines()
    assert script[-1] == f"exec {sys.executable} -m rekindle.driver supervise {run}"
    asked = [f"#SBATCH --{option}" for option in ("nodes=2", "time=01:00:00", "exclusive")]
    assert [line for line in script if "nodes=" in line or "exclusive" in line or "time=" in line] == asked
    assert read_record(run / "spec.json", RunSpec).allocation == SLURM
    assert not (run / "driver.log").exists()
    assert (run / "job" / "job.py").exists()


def test_a_run_in_the_queue_is_followed_and_not_queued_again(queued, queue):
    run, start = queued
    for answer in ({"message": "PENDING|Resources|N/A\n"}, {"errors": "no controller", "status": 1}):
        queue.set("squeue", **answer)
        assert start() is False
    queue.set("squeue")
    assert start() is True
    assert len(queue.asked("sbatch")) == 2
    assert json.loads((run / "queue.json").read_text()) == {"room": "slurm", "job": "77"}


def test_a_run_in_the_queue_keeps_another_one_away(queued, queue):
    run, start = queued
    queue.set("squeue", "PENDING|Resources|N/A\n")
    run.rename(run.with_name("toy-ba9876543210"))
    with pytest.raises(subprocess.CalledProcessError) as refused:
        start()
    assert refused.value.stderr.startswith(b"toy-ba9876543210 still runs on the host")


def supervised(run, environ):
    """Run the supervisor as the batch script does, on a node; returns the spec and how the run ended."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ}
    command = [sys.executable, "-m", "rekindle.driver", "supervise", str(run)]
    subprocess.run(command, env=environ, check=True, timeout=120)
    return read_record(run / "spec.json", RunSpec), read_record(run / "ended.json", RunEnd)


def test_a_run_that_other_hosts_do_not_begin_leaves_the_queue(queued, queue):
    command = [sys.executable, "-m", "rekindle.driver", "cancel", str(queued[0])]
    subprocess.run(command, check=True)
    assert queue.asked("scancel") == ["77"]


def test_the_job_knows_of_all_nodes_that_were_given(queued, tmp_path):
    run, _ = queued
    spec, ended = supervised(run, stand_in(tmp_path / "slurm", "n9", ("n10", "n9")))
    assert spec.nodes == ("n9", "n10")
    assert (ended.reason, ended.waited_s) == ("finished", None)
    assert (run / "job" / "seen").read_text() == "rekindle.slurm.launch"


def test_a_verdict_has_how_long_the_run_was_in_the_queue(queued, tmp_path):
    run, _ = queued
    environ = stand_in(tmp_path / "slurm", "n9", ("n10", "n9"))
    scontrol = tmp_path / "slurm/bin/scontrol"
    message = "JobId=77 SubmitTime=2026-11-22T21:00:10 StartTime=2026-11-22T21:02:00"
    hosts = scontrol.rename(scontrol.with_name("scontrol.hosts"))
    scontrol.write_text(
        f'#!/bin/sh\ncase "$*" in *" job "*) echo {message} ;; *) echo n10; echo n9 ;; esac\n'
    )
    scontrol.chmod(hosts.stat().st_mode)
    assert supervised(run, environ)[1].waited_s == 110
    assert judge_run(run).waited_s == 110


def test_a_run_that_is_given_too_little_ends_with_that_and_a_verdict(queued, tmp_path):
    run, _ = queued
    spec, ended = supervised(run, stand_in(tmp_path / "slurm", "n9", ("n9",)))
    assert spec == replace(spec, nodes=())
    assert (ended.reason, ended.message) == ("interrupted", "SLURM gave 1 nodes, n9, of 2.")
    verdict = judge_run(run)
    assert verdict.verdict != "PASS"
    assert "SLURM gave 1 nodes, n9, of 2." in verdict.cause
    assert not (run / "job" / "seen").exists()
