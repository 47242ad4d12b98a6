# SPDX-License-Identifier: Apache-2.0
"""How fast the host's disks are, past the page cache, and what shared memory it has."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

_BLOCK = 8 << 20
_MOST_BYTES = 512 << 20
_MOST_S = 1.0
"""Of writing, and of reading."""


def measure(folders: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return write and read rates by name of each folder, and the size of /dev/shm."""
    figures = []
    for name, folder in folders.items():
        figures += _rates(name, folder)
    shm = os.statvfs("/dev/shm") if Path("/dev/shm").is_dir() else None
    free = shm.f_bavail * shm.f_frsize / (1 << 20) if shm else None
    figures.append({"name": "shm_mib", "value": free, "unit": "MiB", "message": "free in /dev/shm"})
    return figures


def _rates(name: str, folder: Path) -> list[dict[str, Any]]:
    handle, path = tempfile.mkstemp(dir=folder)
    os.close(handle)
    try:
        written, direct = _timed(path, os.O_WRONLY)
        read, _ = _timed(path, os.O_RDONLY)
    except OSError as error:
        written, read, direct = [], [], False
        message = f"{folder}: {error.strerror}"
    else:
        message = (
            "by direct I/O" if direct else "through the page cache, as its file system has no direct I/O"
        )
    finally:
        Path(path).unlink()
    return [
        {
            "name": f"{name}_{verb}",
            "value": median(rates) if rates else None,
            "unit": "MB/s",
            "series": rates,
            "message": message,
        }
        for verb, rates in (("write", written), ("read", read))
    ]


def _timed(path: str, flags: int) -> tuple[list[float], bool]:
    """Write or read the file block by block; return the rates of each eighth, and whether past the cache."""
    buffer = mmap.mmap(-1, _BLOCK)  # direct I/O needs page-aligned blocks
    buffer.write(os.urandom(1 << 20) * (_BLOCK >> 20))
    direct = True
    try:
        handle = os.open(path, flags | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        direct, handle = False, os.open(path, flags)
    seconds: list[float] = []
    try:
        while len(seconds) * _BLOCK < _MOST_BYTES and sum(seconds) < _MOST_S:
            began = time.perf_counter()
            done = os.writev(handle, [buffer]) if flags == os.O_WRONLY else os.readv(handle, [buffer])
            if not direct and flags == os.O_WRONLY:
                os.fdatasync(handle)
            seconds.append(time.perf_counter() - began)
            if done < _BLOCK:
                seconds.pop()
                break
    finally:
        os.close(handle)
    size = max(1, len(seconds) // 8)
    parts = [seconds[at : at + size] for at in range(0, len(seconds) - size + 1, size)]
    return [len(part) * _BLOCK / 1e6 / sum(part) for part in parts], direct
