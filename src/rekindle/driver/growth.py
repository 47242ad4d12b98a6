# SPDX-License-Identifier: Apache-2.0
"""What the files of a run say that they had not said before: an error that repeats is no progress."""

import re
from contextlib import suppress
from pathlib import Path

from rekindle.flare.log import TRAINERS
from rekindle.flare.workspace import LOGS
from rekindle.host import files, folders

_MOST = 1 << 20
"""Bytes of one file that are read at once, at its end."""
_KNOWN = 20_000
"""Kinds of lines that are known at once."""
_LINE = re.compile(
    r"(?:\x1b\[[\d;]{0,20}m)?\d{4}-\d\d-\d\d [\d:,]{8,15} - (?:([\w.]{1,200}) - )?[A-Z]{4,8} - ",
)
"""The beginning of a line of NVFlare's logs, whose consoles leave out the logger."""
_ID = re.compile(r"\b\w{0,2}[\da-f]{8}(?:-?[\da-f]{4}){0,3}-?[\da-f]{0,16}\b")
_FIGURE = re.compile(r"\d+")


class Growth:
    """The files of one run, read as they grow."""

    def __init__(self, run_dir: Path) -> None:
        """Begin with what is there already."""
        self._run_dir, self._count = run_dir, 0
        self._read: dict[Path, int] = {}
        self._known: set[int] = set()

    def count(self) -> int:
        """Return how much was new so far: lines of logs of a kind that had not been there, and evidence.

        NVFlare's own lines are of one kind if they differ in figures alone; those of trainers and of job.py,
        in nothing but times and ids. What has no end of line yet counts too, as a progress bar.
        """
        for path in self._run_dir.glob(folders.EVENTS):
            self._count += self._added(path) is not None
        for path in (path for pattern in (folders.JOB_LOG, LOGS) for path in self._run_dir.glob(pattern)):
            for line in re.split(r"[\r\n]+", self._new(path)):
                self._take(line)
        return self._count

    def _added(self, path: Path) -> int | None:
        """Return how many bytes a file has gained, or all if it is shorter now; None if it is as it was."""
        with suppress(OSError):  # another run of the same name may remove files
            size, read = path.lstat().st_size, self._read.get(path, 0)
            if size != read:
                self._read[path] = size
                return size if size < read else size - read
        return None

    def _new(self, path: Path) -> str:
        """Return what was added to a file."""
        added = self._added(path) or 0
        with suppress(OSError):  # a job may put anything in its place
            return files.read_end(path, min(_MOST, added)).decode("utf-8", "replace") if added else ""
        return ""

    def _take(self, line: str) -> None:
        begins = _LINE.match(line)
        said = _ID.sub("", line[begins.end() :] if begins else line)
        if begins and begins[1] not in TRAINERS:
            said = _FIGURE.sub("", said)
        if said.strip() and hash(said) not in self._known:
            self._known = set() if len(self._known) >= _KNOWN else self._known
            self._known.add(hash(said))
            self._count += 1
