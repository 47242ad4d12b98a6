"""A look at work that SLURM has queued: what the queue says of it counts, and not the lock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rekindle.host import detached, look
from rekindle.hostfacts import frames
from rekindle.records import Progress, decode

NONCE = "0123456789abcdef"
SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture
def folder(tmp_path, queue):
    """Return the folder of a job that was queued."""
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "slurm.json").write_text('{"job": "77"}')
    return folder


def seen(folder):
    """Return what a look says of the job, and the record."""
    found = frames.parse(look.look(folder / "lock", folder / "progress.json", NONCE), NONCE)
    (state,) = found.keys() - {"record", "end"}
    return state, found["record"].text


def test_what_waits_has_a_record_that_says_so(folder, queue):
    queue.say("squeue", "PENDING|Resources|N/A\n")
    state, text = seen(folder)
    progress = decode(text, Progress)
    assert (state, progress.state) == ("held", "waiting")
    assert progress.says == "job 77 waits in SLURM's queue for Resources"


def test_what_could_never_start_is_cancelled_and_has_failed(folder, queue):
    queue.say("squeue", "PENDING|PartitionTimeLimit|N/A\n")
    state, text = seen(folder)
    progress = decode(text, Progress)
    assert (state, progress.state) == ("free", "failed")
    assert progress.says.startswith(
        "Job 77 could never start in SLURM's partition: PartitionTimeLimit. Fix: "
    )
    assert queue.asked("scancel") == ["77"]


@pytest.mark.parametrize("begun", [None, "waiting", "running"])
@pytest.mark.parametrize("run", [False, True])
def test_what_slurm_ended_without_a_last_word_has_ended_or_failed_as_a_build(folder, queue, begun, run):
    if begun:
        detached.tell(folder / "progress.json", begun, "round 1/3", 1)
    if run:
        (folder / "spec.json").touch()
    queue.say("scontrol", "JobId=77 JobState=NODE_FAIL\n")
    state, text = seen(folder)
    progress = decode(text, Progress)
    fix = "" if run else f" Fix: see {folder}/slurm.log on the host, and run again."
    assert (state, progress.state) == ("free", "ended" if run else "failed")
    assert progress.says == f"SLURM ended job 77: NODE_FAIL.{fix}"
    assert (folder / "slurm-job.log").read_text() == "JobId=77 JobState=NODE_FAIL\n"


def test_a_last_word_stays_the_last(folder):
    detached.tell(folder / "progress.json", "ended", "its last word", 1)
    state, text = seen(folder)
    assert (state, decode(text, Progress).says) == ("free", "its last word")
    assert not (folder / "slurm-job.log").exists()


def test_a_last_word_that_is_said_while_slurm_is_asked_is_heard(folder, queue):
    detached.tell(folder / "progress.json", "ended", "its last word", 1)
    (folder / "progress.json").rename(folder / "last.json")
    detached.tell(folder / "progress.json", "running", "round 3/3", 1)
    queue.put("squeue", f"#!/bin/sh\nmv {folder}/last.json {folder}/progress.json\n")
    state, text = seen(folder)
    assert (state, decode(text, Progress).says) == ("free", "its last word")


def test_what_slurm_does_not_tell_is_neither_held_nor_free(folder, queue):
    queue.say("squeue", errors="Unable to contact slurm controller", status=1)
    detached.tell(folder / "progress.json", "running", "round 1/3", 1)
    state, text = seen(folder)
    assert (state, decode(text, Progress).says) == ("unknown", "round 1/3")


def test_nothing_of_it_is_imported_where_nothing_is_queued(folder):
    program = (
        "import sys; from rekindle.host.look import look; look(*sys.argv[1:]); "
        "print('rekindle.host.slurm' in sys.modules, 'json' in sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-S", "-c", program, folder / "lock", folder / "progress.json", NONCE]
    said = {}
    for queued in (True, False):
        if not queued:
            (folder / "slurm.json").unlink()
        done = subprocess.run(command, env=environ, capture_output=True, check=True, text=True)
        said[queued] = done.stdout
    assert said == {True: "True True\n", False: "False False\n"}
