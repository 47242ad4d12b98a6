"""A look at detached work: whether its lock is held, what its record says, and what the look itself takes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from unfit import UNFIT

from rekindle.host import detached, look
from rekindle.hostfacts import frames

NONCE = "0123456789abcdef"
SOURCE = Path(__file__).parents[3] / "src"


def test_a_lock_below_a_file_is_held_by_nobody(tmp_path):
    (tmp_path / "logs").touch()
    assert not look.held(tmp_path / "logs" / "lock")


def test_who_looks_is_no_holder(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    lock.touch()
    taken, seen = look.taken, []

    def meanwhile(stream, kind):
        free = taken(stream, kind)
        monkeypatch.setattr(look, "taken", taken)
        seen.append(look.held(lock))
        return free

    monkeypatch.setattr(look, "taken", meanwhile)
    assert not look.held(lock)
    assert seen == [False]


def _look(folder):
    """Return what a look in ``folder`` says of the lock, and the text of the record."""
    found = frames.parse(look.look(folder / "lock", folder / "progress.json", NONCE), NONCE)
    (state,) = found.keys() - {"record", "end"}
    return state, found["record"].text


def test_a_look_says_whether_the_lock_is_held_and_what_the_record_is(tmp_path):
    assert _look(tmp_path) == ("free", "")
    (tmp_path / "progress.json").write_bytes(b"is \xff here\n@@other held 0\n")
    with detached.locked(tmp_path / "lock"):
        assert _look(tmp_path) == ("held", "is \ufffd here\n@@other held 0\n")
    assert _look(tmp_path)[0] == "free"


def test_the_record_beside_a_free_lock_is_the_last_one(tmp_path, monkeypatch):
    def held(lock):
        detached.tell(tmp_path / "progress.json", "ended", "its last word", 1)
        return False

    monkeypatch.setattr(look, "held", held)
    assert "its last word" in _look(tmp_path)[1]


@pytest.mark.parametrize("plant", UNFIT.values(), ids=UNFIT)
def test_a_record_that_is_no_regular_file_is_empty(tmp_path, plant):
    plant(tmp_path / "progress.json")
    with detached.locked(tmp_path / "lock"):
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
        said = _run_module(tmp_path, PYTHONIOENCODING=encoding)
        assert said == f"\n@@{NONCE} free 0\n@@{NONCE} record 0\n½ of it\n@@{NONCE} end 0\n"
