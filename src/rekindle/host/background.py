# SPDX-License-Identifier: Apache-2.0
"""Work that outlives the session that starts it: a lock that it holds, and a record of its progress."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from . import files, storage
from .look import take_lock


@contextmanager
def hold_lock(lock: Path) -> Iterator[BinaryIO | None]:
    """Hold ``lock`` while this goes on, for `start_module` to hand it on.

    It is None at once if another process holds the lock.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    with files.open_file(lock, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as stream:
        yield stream if take_lock(stream, fcntl.LOCK_EX) else None


def start_module(
    command: list[str], lock: BinaryIO, log: Path, environ: Mapping[str, str] | None = None
) -> None:
    """Run a module with its arguments in its own session; it holds ``lock`` until it ends.

    Its output goes to a new ``log``; ``environ`` are its variables, by default those of this process.
    """
    with log.open("wb") as output:
        spawn_command([sys.executable, "-m", *command], output, env=environ, pass_fds=[lock.fileno()])


def spawn_command(command: Sequence[str], log: BinaryIO, **more: Any) -> "subprocess.Popen[Any]":
    """Start a command in its own session, without input and with all output in ``log``.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **more
    )


State = Literal["waiting", "running", "ended", "failed"]


def make_progress(state: State, message: str, elapsed_s: float, **more: Any) -> str:
    """Return a Progress of records/run.py as JSON; ``more`` is its ``changed`` and ``result``."""
    fields = {
        "schema": "rekindle/progress/1",
        "state": state,
        "message": message,
        "elapsed_s": round(elapsed_s, 1),
    }
    return json.dumps({**fields, "changed": False, "result": {}, **more}, indent=2) + "\n"


def write_progress(record: Path, state: State, message: str, elapsed_s: float, **more: Any) -> None:
    """Write a progress record, completely or not at all."""
    storage.write_file(record, make_progress(state, message, elapsed_s, **more).encode())
