"""Whether detached work goes on, and how far it is.

``run_detached`` asks again and again, in a new process, so that this imports nothing that takes long.
"""

from __future__ import annotations

import fcntl
import os
import sys

from . import files

TYPE_CHECKING = False  # typing's takes longer to import than a look does
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_RECORD_LIMIT = 1 << 20
"""Bytes of a record that a look prints."""


def taken(stream: BinaryIO, kind: int) -> bool:
    """Take a lock of ``kind`` on an open file, unless another process's keeps us from it."""
    try:
        fcntl.flock(stream, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def held(lock: str | Path) -> bool:
    """Whether a process holds ``lock``; nobody holds one that is not there, or is no regular file."""
    try:
        with files.opened(lock) as stream:
            return not taken(stream, fcntl.LOCK_SH)  # who looks at the same time is no holder
    except (FileNotFoundError, NotADirectoryError, files.UnfitError):
        return False


def look(lock: str | Path, record: str | Path, nonce: str) -> str:
    """Return whether ``lock`` is held, or the job queued, and only then ``record``: the last one if not.

    In the frames of preflight's collector, as a shell prints what it likes before and after. A record that is
    no regular file, or too large, is empty.
    """
    folder = os.path.dirname(lock)  # noqa: PTH120
    if os.access(f"{folder}/slurm.json", os.F_OK):
        from pathlib import Path  # noqa: PLC0415  # both take long to import

        from . import slurm  # noqa: PLC0415

        state, said = slurm.seen(Path(folder), lambda: _said(record))
    else:
        state = "held" if held(lock) else "free"
        said = _said(record)
    return f"\n@@{nonce} {state} 0\n@@{nonce} record 0\n{said}\n@@{nonce} end 0\n"


def _said(record: str | Path) -> str:
    try:
        return files.content(record, _RECORD_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def main() -> None:
    """Print a look at what the command line names."""
    sys.stdout.buffer.write(look(*sys.argv[1:]).encode())
