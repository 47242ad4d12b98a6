"""Work that outlives the session which starts it: a lock that it holds, and a record of how far it is.

``python -m rekindle.host.detached LOCK RECORD NONCE`` looks at both, also where nothing is installed.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

from . import files

_RECORD_LIMIT = 1 << 20
"""Bytes of a record that a look prints."""


@contextmanager
def locked(lock: Path) -> Iterator[BinaryIO | None]:
    """Hold ``lock`` while this goes on, for `start` to hand it on; None at once if another process holds it.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    with files.opened(lock, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as stream:
        yield stream if _taken(stream, fcntl.LOCK_EX) else None


def held(lock: Path) -> bool:
    """Whether a process holds ``lock``; nobody holds one that is not there, or is no regular file.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        with files.opened(lock) as stream:
            return not _taken(stream, fcntl.LOCK_SH)  # who looks at the same time is no holder
    except (FileNotFoundError, NotADirectoryError, files.UnfitError):
        return False


def start(command: list[str], lock: BinaryIO, log: Path, environ: Mapping[str, str] | None = None) -> None:
    """Run a module with its arguments in a session of its own; it holds ``lock`` until it ends.

    ``log`` is made anew for what it prints; ``environ`` are its variables, or else those of this process.

    Raises:
        OSError: it cannot be started.
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


State = Literal["running", "ended", "failed"]


def tell(record: Path, state: State, says: str, elapsed_s: float, **more: Any) -> None:
    """Write a Progress of records/run.py, whole or not at all; ``more`` is its ``changed`` and ``result``.

    Raises:
        OSError: it cannot be written.
    """
    told = {"schema": "rekindle/progress/1", "state": state, "says": says, "elapsed_s": round(elapsed_s, 1)}
    text = json.dumps({**told, "changed": False, "result": {}, **more}, indent=2)
    files.write(record, f"{text}\n".encode())


def look(lock: Path, record: Path, nonce: str) -> str:
    """Return whether ``lock`` is held, and only then ``record``, which is the last one if it was free.

    In the frames of preflight's collector, as a shell prints what it likes before and after. A record that is
    no regular file, or too large, is empty.

    Raises:
        OSError: the lock cannot be opened.
    """
    state, said = "held" if held(lock) else "free", b""
    with suppress(OSError):
        said = files.content(record, _RECORD_LIMIT)
    text = said.decode("utf-8", "replace")
    return f"\n@@{nonce} {state} 0\n@@{nonce} record 0\n{text}\n@@{nonce} end 0\n"


def _taken(stream: BinaryIO, kind: int) -> bool:
    try:
        fcntl.flock(stream, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.stdout.buffer.write(look(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]).encode())
