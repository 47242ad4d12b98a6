# SPDX-License-Identifier: Apache-2.0
"""Work that is detached: who holds its lock, what it is started with and what it records."""

import errno
import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from runners.waits import until
from unfit import UNFIT

from rekindle.host import background, files
from rekindle.host.look import is_held
from rekindle.records import Progress, read_record, write_record

WORKER = """
import json, os, sys, time
found = {"session": os.getsid(0), "pid": os.getpid(), "arguments": sys.argv[1:], "environ": dict(os.environ)}
print(json.dumps({**found, "stdin": sys.stdin.read()}))
print("to stderr", file=sys.stderr)
ends = time.monotonic() + 60
while os.path.exists(sys.argv[1]) and time.monotonic() < ends:
    time.sleep(0.02)
"""


@contextmanager
def holder(lock):
    with background.hold_lock(lock) as stream:
        assert stream is not None
        yield


@pytest.mark.parametrize("plant", UNFIT.values(), ids=UNFIT)
def test_a_lock_that_is_no_regular_file_is_not_taken_and_held_by_nobody(tmp_path, plant):
    plant(tmp_path / "lock")
    assert not is_held(tmp_path / "lock")
    with pytest.raises(files.UnfitError), holder(tmp_path / "lock"):
        pass
    assert not (tmp_path / "nothing").exists()


@pytest.fixture
def worker(tmp_path):
    """Start WORKER under a lock that is not held here; it ends when the file ``goes on`` is removed."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "goes on").touch()

    def begin(**environ):
        with background.hold_lock(tmp_path / "lock") as lock:
            command = ["worker", str(tmp_path / "goes on"), "$HOME"]
            environ = {**os.environ, "PYTHONPATH": str(tmp_path), **environ}
            background.start_module(command, lock, tmp_path / "log", environ)

    yield begin
    (tmp_path / "goes on").unlink(missing_ok=True)
    until(lambda: not is_held(tmp_path / "lock"))


def test_what_is_started_holds_the_lock_until_it_ends(tmp_path, worker):
    worker()
    assert is_held(tmp_path / "lock")
    with background.hold_lock(tmp_path / "lock") as second:
        assert second is None
    (tmp_path / "goes on").unlink()
    until(lambda: not is_held(tmp_path / "lock"))


def test_what_is_started_has_a_session_a_log_and_its_own_variables(tmp_path, worker):
    (tmp_path / "log").write_text("of the one before\n")
    worker(ONLY="its own")
    (tmp_path / "goes on").unlink()
    until(lambda: not is_held(tmp_path / "lock"))
    lines = (tmp_path / "log").read_text().splitlines()
    found = json.loads(next(line for line in lines if line.startswith("{")))
    assert sorted(lines) == sorted(["to stderr", json.dumps(found)])
    assert found["session"] == found["pid"]
    assert found["arguments"] == [str(tmp_path / "goes on"), "$HOME"]
    assert found["environ"]["ONLY"] == "its own"
    assert found["stdin"] == ""
    assert "ONLY" not in os.environ


@pytest.mark.parametrize(
    ("state", "more"),
    [
        ("running", {}),
        ("failed", {}),
        ("ended", {"changed": True, "result": {"environments": [{"a": None}]}}),
    ],
)
def test_what_is_written_is_the_progress_that_records_write(tmp_path, state, more):
    background.write_progress(tmp_path / "progress.json", state, "round 2/3", 7.04, **more)
    progress = Progress(state=state, message="round 2/3", elapsed_s=7.0, **more)
    assert read_record(tmp_path / "progress.json", Progress) == progress
    write_record(tmp_path / "other.json", progress)
    assert (tmp_path / "progress.json").read_bytes() == (tmp_path / "other.json").read_bytes()


def test_what_is_written_is_complete_or_as_it_was_before(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    background.write_progress(path, "running", "before", 1)
    with path.open() as reader:
        background.write_progress(path, "running", "after", 2)
        assert json.loads(reader.read())["message"] == "before"

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        background.write_progress(path, "ended", "lost", 3)
    assert read_record(path, Progress).message == "after"
    assert list(tmp_path.iterdir()) == [path]
