# SPDX-License-Identifier: Apache-2.0
"""A run whose environment is on its nodes' own disks: had on each before the job starts, or why not."""

from pathlib import Path

import pytest
from slurm_stand_in import stand_in
from test_driver_queue import supervised
from toys import toy

from rekindle.host import disks, folders
from rekindle.judge import judge
from rekindle.records import Slurm

NAMES = ("n9", "n10")
JOB = "import pathlib, sys; pathlib.Path('seen').write_text(sys.executable)"
ASKED = {"partition": "gpu", "nodes": 2, "time": "01:00:00"}


@pytest.fixture
def given(tmp_path, root, spec, queue):
    """Return a run that was queued, the folder for its environment on each node, and what starts it there."""
    disk = tmp_path / "disk"
    disk.mkdir()
    place = folders.on_disk(str(disk), root)
    on_nodes = {**spec, "name": "toy", "local": str(place)}
    disks.keep(root, ASKED, [on_nodes])
    python = folders.environment(place, "toy", spec["lock_sha256"]) / "bin/python"
    slurm = Slurm(**ASKED, local_disk=str(disk))
    run, start = toy(tmp_path, JOB, name="runs/toy-0123456789ab", slurm=slurm, python=str(python))
    start()
    environ = stand_in(tmp_path / "slurm", "n9", NAMES)
    return run, place, environ


def test_each_node_has_it_before_the_job_starts_in_it(given):
    run, place, environ = given
    _, ended = supervised(run, environ)
    assert (ended.reason, ended.exit_status) == ("finished", 0)
    assert (run / "job/seen").read_text() == str(next(place.glob("envs/toy-*/bin/python")))
    answers = (run / "environment.log").read_text().splitlines()
    assert sorted(answers) == [f'{{"node": "{node}", "message": null}}' for node in ("n10", "n9")]
    assert sorted(path.name for path in run.parents[1].glob("logs/local/nodes/*")) == ["n10", "n9"]
    (call,) = Path(environ["SLURM_STAND_IN"], "calls").read_text().splitlines()[:1]
    options = "--overlap --export=ALL --input=none --wait=0 --ntasks-per-node=1"
    assert call.startswith(f"{options} ")


def test_a_node_that_cannot_have_it_is_named_with_the_cause_and_the_job_does_not_start(given):
    run, place, environ = given
    place.parent.rmdir()
    supervised(run, environ)
    cause = judge(run).cause
    assert cause == f"n9 cannot have its environment: {place} cannot be made: No such file or directory."
    assert not (run / "job/seen").exists()


def test_a_node_that_does_not_answer_is_named_with_slurms_error(given):
    run, _, environ = given
    srun = Path(environ["PATH"].partition(":")[0], "srun")
    srun.write_text("#!/bin/sh\necho 'srun: error: n9: task 0: Killed' >&2\nexit 1\n")
    supervised(run, environ)
    message = "n9 cannot have its environment: it gave no reason: srun: error: n9: task 0: Killed"
    assert judge(run).cause.startswith(message)
