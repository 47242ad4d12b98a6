# SPDX-License-Identifier: Apache-2.0
"""Progress of the builds: bytes that were downloaded, their rate, and what is left.

uv prints the size of each large file as its download begins; what has arrived is the growth of its cache
since the first.
"""

import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from rekindle.host import background

_SIZE = re.compile(r"^Downloading (\S+) \(([\d.]+)([KMG])iB\)")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PERIOD_S = 1.0


class BuildReporter:
    """Writes a Progress record once a second, from a thread; an exception becomes its message."""

    def __init__(self, path: Path, cache: Path) -> None:
        """Write to ``path``; ``cache`` is where uv's downloads arrive."""
        self._path, self._cache = path, cache
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._name, self._sizes, self._since = "", dict[str, int](), self._began
        self._before = self._arrived = 0

    def __enter__(self) -> "BuildReporter":
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; an exception is recorded as a failure."""
        self._stop.set()
        self._thread.join()
        if error is not None:
            self._write("failed", str(error) or type(error).__name__)

    def begin(self, name: str) -> None:
        """Begin with the environment ``name``."""
        self._name, self._sizes, self._arrived = name, {}, 0

    def take(self, line: str) -> None:
        """Note the size of a download that a line of uv's announces."""
        if found := _SIZE.match(line):
            if not self._sizes:  # from here on uv no longer removes files from the cache
                self._before, self._since = _size(self._cache), time.monotonic()
            self._sizes[found[1]] = int(float(found[2]) * _UNITS[found[3]])

    def end(self, changed: bool, result: dict[str, Any]) -> None:
        """Record the end and the result."""
        self._stop.set()
        self._thread.join()
        self._write("ended", "built" if changed else "nothing to do", changed=changed, result=result)

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self._write("running", self._message())

    def _message(self) -> str:
        total = sum(self._sizes.values())
        if not total:
            return self._name
        if self._arrived < total:
            size = _size(self._cache)
            self._before = min(self._before, size)  # another build may clean it
            self._arrived = max(self._arrived, min(size - self._before, total))
        arrived = self._arrived
        if arrived == total:
            return f"{self._name}: {total / 1e6:.0f} MB are here, installing and probing"
        rate = arrived / (time.monotonic() - self._since)
        left = f"{(total - arrived) / rate:.0f} s left" if rate > 0 else "not begun"
        return f"{self._name}: {arrived / 1e6:.0f} of {total / 1e6:.0f} MB at {rate / 1e6:.1f} MB/s, {left}"

    def _write(self, state: background.State, message: str, **more: Any) -> None:
        background.write_progress(self._path, state, message, time.monotonic() - self._began, **more)


def _size(folder: Path) -> int:
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(base, name)).st_size  # noqa: PTH118 - many thousands
    return total
