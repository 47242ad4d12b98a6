"""Files that someone else wrote, read without trust: regular ones of bounded size, and never with a wait.

Standard library alone, as it also works where nothing else on a host is whole.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

LIMIT = 64 << 20
"""Bytes of one file that are read at once."""
MOST = 1000
"""Files of one kind in a folder that are looked at."""
_LINKED, _PEERLESS = errno.ELOOP, errno.ENXIO
"""What open(2) says of a link that is not followed, and of a socket."""


class UnfitError(OSError):
    """A file is none that is read; ``strerror`` says why."""


def opened(path: Path, flags: int = os.O_RDONLY) -> BinaryIO:
    """Open the regular file at ``path``; a FIFO, a device, a folder or a link is refused at once.

    Raises:
        UnfitError: it is no regular file.
        OSError: it is not there, or cannot be opened.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno in (_LINKED, _PEERLESS, errno.EISDIR):
            raise UnfitError(error.errno, "it is no regular file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnfitError(errno.EINVAL, "it is no regular file", str(path))
    return os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "rb")


def content(path: Path, limit: int = LIMIT) -> bytes:
    """Return the whole content of the regular file at ``path``.

    Raises:
        UnfitError: it is no regular file, or has more than ``limit`` bytes.
        OSError: it cannot be read.
    """
    with opened(path) as stream:
        found = stream.read(limit + 1)
    if len(found) > limit:
        raise UnfitError(errno.EFBIG, f"it has more than {limit} bytes", str(path))
    return found


def end(path: Path, most: int) -> bytes:
    """Return the last ``most`` bytes of the regular file at ``path``.

    Raises:
        OSError: it is no regular file, or cannot be read.
    """
    with opened(path) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - most))
        return stream.read(most)


def found(folder: Path, pattern: str) -> list[Path]:
    """Return the first `MOST` paths below ``folder`` that fit the glob ``pattern``, in order."""
    return sorted(islice(folder.glob(pattern), MOST))


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
