"""Files and folders of our own: whole or not at all, for their owner alone, one process at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Have ``data`` in the file at ``path``, whole or not at all, for its owner alone.

    Raises:
        OSError: it cannot be written; what was there before is as it was.
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


def remove(path: Path) -> None:
    """Have nothing at ``path``, whatever it is; a link is not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make ``path`` and the folders above it that are not there, for their owner alone."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def alone(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Keep every other process that asks for the same out of ``folder``; a killed one keeps nobody out.

    Raises:
        OSError: it is no folder, or without ``wait`` another one has it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
