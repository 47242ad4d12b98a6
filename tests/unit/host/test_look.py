# SPDX-License-Identifier: Apache-2.0
"""A look at detached work: whether its lock is held or its job queued, and its record."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from unfit import UNFIT

from rekindle.host import background, look
from rekindle.hostfacts import frames
from rekindle.records import Progress, decode_json

NONCE = "0123456789abcdef"
SOURCE = Path(__file__).parents[3] / "src"


def test_a_lock_below_a_file_is_held_by_nobody(tmp_path):
    (tmp_path / "logs").touch()
    assert not look.is_held(tmp_path / "logs" / "lock")


def test_who_looks_is_no_holder(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    lock.touch()
    taken, seen = look.take_lock, []

    def meanwhile(stream, kind):
        free = taken(stream, kind)
        monkeypatch.setattr(look, "take_lock", taken)
        seen.append(look.is_held(lock))
        return free

    monkeypatch.setattr(look, "take_lock", meanwhile)
    assert not look.is_held(lock)
    assert seen == [False]


def _look(folder):
    """Return the state of the lock in ``folder``, and the text of the record."""
    found = frames.parse_frames(look.look_at(folder / "lock", folder / "progress.json", NONCE), NONCE)
    (state,) = found.keys() - {"record", "end"}
    return state, found["record"].text


def test_a_look_has_the_state_of_the_lock_and_the_record(tmp_path):
    assert _look(tmp_path) == ("free", "")
    (tmp_path / "progress.json").write_bytes(b"is \xff here\n@@other held 0\n")
    with background.hold_lock(tmp_path / "lock"):
        assert _look(tmp_path) == ("held", "is \ufffd here\n@@other held 0\n")
    assert _look(tmp_path)[0] == "free"


def test_the_record_beside_a_free_lock_is_the_last_one(tmp_path, monkeypatch):
    def held(lock):
        background.write_progress(tmp_path / "progress.json", "ended", "its last record", 1)
        return False

    monkeypatch.setattr(look, "is_held", held)
    assert "its last record" in _look(tmp_path)[1]


@pytest.mark.parametrize("plant", UNFIT.values(), ids=UNFIT)
def test_a_record_that_is_no_regular_file_is_empty(tmp_path, plant):
    plant(tmp_path / "progress.json")
    with background.hold_lock(tmp_path / "lock"):
        assert _look(tmp_path) == ("held", "")


def test_a_record_that_is_too_large_is_empty(tmp_path):
    (tmp_path / "progress.json").write_bytes(b"1" * (1 << 20))
    assert _look(tmp_path) == ("free", "1" * (1 << 20))
    with (tmp_path / "progress.json").open("ab") as record:
        record.truncate(1 << 40)
    assert _look(tmp_path) == ("free", "")


def _run_module(folder, program="from rekindle.host.look import main; main()", **environ):
    command = [sys.executable, "-S", "-c", program, folder / "lock", folder / "progress.json", NONCE]
    environ = {**os.environ, "PYTHONPATH": str(SOURCE), **environ}
    return subprocess.run(command, env=environ, capture_output=True, check=True).stdout.decode()


def test_the_command_prints_a_look_whatever_the_locale(tmp_path):
    (tmp_path / "progress.json").write_text("½ of it")
    for encoding in ("ascii", "utf-8", "utf-16"):
        output = _run_module(tmp_path, PYTHONIOENCODING=encoding)
        assert output == f"\n@@{NONCE} free 0\n@@{NONCE} record 0\n½ of it\n@@{NONCE} end 0\n"


@pytest.fixture
def folder(tmp_path, queue):
    """Return the folder of a job that was queued."""
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "queue.json").write_text('{"room": "slurm", "job": "77"}')
    return folder


def test_what_waits_has_a_record_that_it_waits(folder, queue):
    queue.set("squeue", "PENDING|Resources|N/A\n")
    state, text = _look(folder)
    progress = decode_json(text, Progress)
    assert (state, progress.state) == ("held", "waiting")
    assert progress.message == "job 77 waits in SLURM's queue for Resources"


def test_what_could_never_start_is_cancelled_and_has_failed(folder, queue):
    queue.set("squeue", "PENDING|PartitionTimeLimit|N/A\n")
    state, text = _look(folder)
    progress = decode_json(text, Progress)
    assert (state, progress.state) == ("free", "failed")
    never = "Job 77 could never start in SLURM's partition: PartitionTimeLimit. Fix: "
    assert progress.message.startswith(never)
    assert queue.asked("scancel") == ["77"]


@pytest.mark.parametrize("begun", [None, "waiting", "running"])
@pytest.mark.parametrize("run", [False, True])
def test_what_slurm_ended_without_a_last_record_has_ended_or_failed_as_a_build(folder, queue, begun, run):
    if begun:
        background.write_progress(folder / "progress.json", begun, "round 1/3", 1)
    if run:
        (folder / "spec.json").touch()
    queue.set("scontrol", "JobId=77 JobState=NODE_FAIL\n")
    state, text = _look(folder)
    progress = decode_json(text, Progress)
    fix = "" if run else f" Fix: see {folder}/slurm.log on the host, and run again."
    assert (state, progress.state) == ("free", "ended" if run else "failed")
    assert progress.message == f"SLURM ended job 77: NODE_FAIL.{fix}"
    assert (folder / "slurm-job.log").read_text() == "JobId=77 JobState=NODE_FAIL\n"


def test_a_last_record_stays_the_last(folder):
    background.write_progress(folder / "progress.json", "ended", "its last record", 1)
    state, text = _look(folder)
    assert (state, decode_json(text, Progress).message) == ("free", "its last record")
    assert not (folder / "slurm-job.log").exists()


def test_a_last_record_that_is_written_while_slurm_is_asked_counts(folder, queue):
    background.write_progress(folder / "progress.json", "ended", "its last record", 1)
    (folder / "progress.json").rename(folder / "last.json")
    background.write_progress(folder / "progress.json", "running", "round 3/3", 1)
    queue.put("squeue", f"#!/bin/sh\nmv {folder}/last.json {folder}/progress.json\n")
    state, text = _look(folder)
    assert (state, decode_json(text, Progress).message) == ("free", "its last record")


def test_what_slurm_does_not_know_is_neither_held_nor_free(folder, queue):
    queue.set("squeue", errors="Unable to contact slurm controller", status=1)
    background.write_progress(folder / "progress.json", "running", "round 1/3", 1)
    state, text = _look(folder)
    assert (state, decode_json(text, Progress).message) == ("unknown", "round 1/3")


def test_nothing_of_it_is_imported_where_nothing_is_queued(folder):
    program = (
        "import sys; from rekindle.host.look import look_at; look_at(*sys.argv[1:]); "
        "print('rekindle.host.queues' in sys.modules, 'json' in sys.modules)"
    )
    assert _run_module(folder, program) == "True True\n"
    (folder / "queue.json").unlink()
    assert _run_module(folder, program) == "False False\n"
