"""Work that outlives the session which starts it: a lock that it holds, and a record of how far it is."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from . import files, own
from .look import taken


@contextmanager
def locked(lock: Path) -> Iterator[BinaryIO | None]:
    """Hold ``lock`` while this goes on, for `start` to hand it on; None at once if another process holds it.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    with files.opened(lock, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as stream:
        yield stream if taken(stream, fcntl.LOCK_EX) else None


def start(command: list[str], lock: BinaryIO, log: Path, environ: Mapping[str, str] | None = None) -> None:
    """Run a module with its arguments in a session of its own; it holds ``lock`` until it ends.

    ``log`` is made anew for what it prints; ``environ`` are its variables, or else those of this process.
    """
    with log.open("wb") as output:
        subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )


State = Literal["waiting", "running", "ended", "failed"]


def write_progress(record: Path, state: State, says: str, elapsed_s: float, **more: Any) -> None:
    """Write a Progress of records/run.py, whole or not at all; ``more`` is its ``changed`` and ``result``."""
    fields = {"schema": "rekindle/progress/1", "state": state, "says": says, "elapsed_s": round(elapsed_s, 1)}
    text = json.dumps({**fields, "changed": False, "result": {}, **more}, indent=2)
    own.write(record, f"{text}\n".encode())
