# SPDX-License-Identifier: Apache-2.0
"""Our own files and folders: written completely or not at all, private, one process at a time."""

import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_RETRY_S = 0.05


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to the file at ``path``, completely or not at all, for its owner alone.

    Raises:
        OSError: it cannot be written; the file before it is unchanged.
    """
    make_folder(path.parent)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def link_path(path: Path, target: Path) -> None:
    """Have the symbolic link at ``path`` lead to ``target``, whatever it led to before.

    Raises:
        OSError: it cannot be made, or a folder is in its place.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    temporary.symlink_to(target)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise


def remove_path(path: Path) -> None:
    """Remove a file, link or folder if it is there; a link is not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make ``path`` and the folders above it that are not there, for their owner alone."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def _take_lock(descriptor: int, wait_s: float | None) -> None:
    if wait_s is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    ends = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends:
                raise
        time.sleep(_RETRY_S)


@contextmanager
def lock_folder(folder: Path, *, wait_s: float | None = None) -> Iterator[None]:
    """Lock ``folder`` against other processes that do the same; the lock ends with its process.

    Args:
        folder: any that is there.
        wait_s: until another process gives it up; None is without end.

    Raises:
        BlockingIOError: another process has it for so long.
        OSError: it is no folder.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _take_lock(descriptor, wait_s)
        yield
    finally:
        os.close(descriptor)
