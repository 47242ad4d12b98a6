# SPDX-License-Identifier: Apache-2.0
"""Files that someone else wrote, read without trust: regular ones of bounded size, and never with a wait.

``run_detached`` imports it for each poll, so it imports nothing that takes long.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice

TYPE_CHECKING = False  # typing's takes longer to import than a poll does
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

LIMIT = 64 << 20
"""Bytes of one file that are read at once."""
HASHED = 4 * LIMIT
"""Bytes of a file in results of which a digest is made: no run, record or report has as many."""
ANY = 1 << 60
"""For files of this machine's own, such as wheels and models."""
MOST = 1000
"""Files of one kind in a folder that are read."""
_RANDOM = 8
"""Characters at the end of the name of what is incomplete."""
_BLOCK = 1 << 20
_LINKED, _PEERLESS = errno.ELOOP, errno.ENXIO
"""open(2)'s errors for a link that is not followed, and for a socket."""


class UnfitError(OSError):
    """Not a regular file within the size limit; ``strerror`` has the reason."""


def open_file(path: str | Path, flags: int = os.O_RDONLY) -> BinaryIO:
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


def read_content(path: str | Path, limit: int = LIMIT) -> bytes:
    """Return the content of the regular file at ``path``.

    Raises:
        UnfitError: it is no regular file, or has more than ``limit`` bytes.
        OSError: it cannot be read.
    """
    with open_file(path) as stream:
        found = stream.read(limit + 1)
    if len(found) > limit:
        raise UnfitError(errno.EFBIG, f"it has more than {limit} bytes", str(path))
    return found


def read_end(path: str | Path, most: int) -> bytes:
    """Return the last ``most`` bytes of the regular file at ``path``.

    Raises:
        OSError: it is no regular file, or cannot be read.
    """
    with open_file(path) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - most))
        return stream.read(most)


class Tail:
    """A file that others append lines to, read again and again."""

    def __init__(self, path: Path) -> None:
        """Begin at its start, whether or not it is there yet."""
        self._path, self._read = path, 0

    def lines(self) -> list[bytes]:
        """Return the complete lines that were not returned before, of a megabyte at most; none of no file."""
        try:
            with open_file(self._path) as stream:
                stream.seek(self._read)
                new = stream.read(_BLOCK)
        except OSError:
            return []
        complete = new[: new.rfind(b"\n") + 1]
        self._read += len(complete)
        return complete.splitlines()


def digest_file(path: str | Path, limit: int = HASHED) -> str:
    """Return the SHA-256 of the regular file at ``path``, read in parts.

    Raises:
        UnfitError: it is no regular file, or has more than ``limit`` bytes, also if most are a hole.
        OSError: it cannot be read.
    """
    import hashlib  # noqa: PLC0415 - no poll needs it

    digest = hashlib.sha256()
    with open_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise UnfitError(errno.EFBIG, f"it has more than {limit} bytes", str(path))
        for _ in range(size // _BLOCK + 1):  # ends for a file that grows
            digest.update(stream.read(_BLOCK))
    return digest.hexdigest()


def find_files(folder: Path, pattern: str) -> list[Path]:
    """Return the first `MOST` paths below ``folder`` that fit the glob ``pattern``, in order.

    Left out is what is incomplete, and what macOS notes in files beside others.
    """
    return sorted(islice(list_files(folder, pattern), MOST))


def list_files(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield all paths that `find_files` would, in no order."""
    for path in folder.glob(pattern):
        if not any(map(is_aside, path.relative_to(folder).parts)):
            yield path


def is_aside(name: str) -> bool:
    """Whether nothing that counts has that name: it is incomplete, or macOS's notes on the file beside it."""
    return name.startswith("._") or is_partial(name)


def is_partial(name: str) -> bool:
    """Whether `storage` gives that name to what it has not yet completed: ``.NAME.abcd_123``."""
    rest, dot, end = name.rpartition(".")
    return (
        bool(dot)
        and len(rest) > 1
        and rest[0] == "."
        and len(end) == _RANDOM
        and end.replace("_", "0").isalnum()
    )
