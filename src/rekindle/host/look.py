# SPDX-License-Identifier: Apache-2.0
"""Whether detached work is in progress, and its progress record.

``run_detached`` polls it, each time in a new process, so it imports nothing that takes long.
"""

from __future__ import annotations

import fcntl
import os
import sys

from . import files

TYPE_CHECKING = False  # typing's takes longer to import than a poll does
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_RECORD_LIMIT = 1 << 20


def take_lock(stream: BinaryIO, kind: int) -> bool:
    """Take a lock of ``kind`` on an open file; False if another process's lock prevents it."""
    try:
        fcntl.flock(stream, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(lock: str | Path) -> bool:
    """Whether a process holds ``lock``; False if it is not there, or not a regular file."""
    try:
        with files.open_file(lock) as stream:
            return not take_lock(stream, fcntl.LOCK_SH)  # another reader is not a holder
    except (FileNotFoundError, NotADirectoryError, files.UnfitError):
        return False


def look_at(lock: str | Path, record: str | Path, nonce: str) -> str:
    """Return whether ``lock`` is held, or the job queued, and only then ``record``: the last one if not.

    In the frames of preflight's collector, as a shell prints what it likes before and after. A record that is
    no regular file, or too large, is empty.
    """
    folder = os.path.dirname(lock)  # noqa: PTH120
    queue = None
    if os.access(f"{folder}/queue.json", os.F_OK):
        from pathlib import Path  # noqa: PLC0415  # both take long to import

        from . import queues  # noqa: PLC0415

        queue = queues.find_queue(Path(folder))
    if queue:
        state, text = queue.read_state(Path(folder), lambda: _text(record))
    else:
        state = "held" if is_held(lock) else "free"
        text = _text(record)
    return f"\n@@{nonce} {state} 0\n@@{nonce} record 0\n{text}\n@@{nonce} end 0\n"


def _text(record: str | Path) -> str:
    try:
        return files.read_content(record, _RECORD_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def main() -> None:
    """Print what `look_at` returns for the arguments of the command line."""
    sys.stdout.buffer.write(look_at(*sys.argv[1:]).encode())
