"""Reads logs of any bytes and size into texts that the catalogue's patterns can search."""

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from rekindle.flare.log import PREFIX
from rekindle.flare.workspace import ERROR_LOGS, LOG, SERVER
from rekindle.host import files, folders

from .prefixes import from_json, without_prefix

LIMIT = files.LIMIT
"""Bytes of one file that are searched, from both ends of a larger one."""
_NAMES = re.compile(rf"{'|'.join(map(re.escape, (LOG, *ERROR_LOGS)))}|.+\.(?:log|out|err)")
_LAST = "~"
_COPIES = re.compile(r"(?:logs|ports|nccl)(?:-[^/]+)?\.txt")
"""Files of an autopsy that are not searched: copies of logs, and files for people."""
_PREFIX = re.compile(rf"^(?:{PREFIX})?(?:\[rank\d{{1,5}}\]: ?)?", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")
_TIME = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[,.](\d{3})(?:\d{3}([+-]\d\d:\d\d))?", re.MULTILINE
)


@dataclass(frozen=True)
class Text:
    """The text of one file."""

    file: str
    raw: str

    @cached_property
    def body(self) -> str:
        """``raw`` without collectors' and loggers' prefixes, in the same lines."""
        return _PREFIX.sub("", without_prefix(self.raw))

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.body))]

    @cached_property
    def _times(self) -> tuple[list[int], list[str]]:
        ends, times, line, position = [], [], 1, 0
        for match in _TIME.finditer(self.raw):
            line += self.raw.count("\n", position, match.start())
            position = match.start()
            ends.append(line)
            times.append(f"{match[1]} {match[2]}.{match[3]}")
        return ends, times

    @cached_property
    def _raw_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.raw))]

    def raw_line(self, number: int) -> str:
        """Return a line, by its number, with its prefixes."""
        starts = self._raw_starts
        return self.raw[starts[number - 1] : starts[number] if number < len(starts) else None].rstrip("\n")

    def line(self, position: int) -> int:
        """Return the number of the line at ``position`` of the body."""
        return bisect_right(self._line_starts, position)

    def time(self, line: int) -> str:
        """Return the host's local time of a line, or of the last one before it that has one; else nothing.

        The ladder's files are later than all of the run's.
        """
        if self.file.startswith(f"{folders.LADDER}/"):
            return _LAST
        lines, times = self._times
        at = bisect_right(lines, line)
        return times[at - 1] if at else ""

    @property
    def begins(self) -> str:
        """Time of the first line that has one, or nothing."""
        return next(iter(self._times[1]), "")

    @property
    def nearness(self) -> int:
        """How close the file is to what failed: a site's log, then the server's, then others."""
        parts = Path(self.file).parts
        return 0 if any(part.startswith("site") for part in parts) else 1 if SERVER in parts else 2


def text(file: str, content: bytes) -> Text:
    """Return the text of any bytes, without zeros, as holes in a file have."""
    decoded = content.replace(b"\0", b"").decode("utf-8", "replace").replace("\r\n", "\n")
    return Text(file, _COLOUR.sub("", from_json(decoded)))


def read(path: Path, file: str) -> Text:
    """Read the regular file at ``path``, as `read_stream` does.

    Raises:
        OSError: it is not one, or cannot be read.
    """
    with files.opened(path) as stream:
        return read_stream(stream, file)


def read_stream(stream: BinaryIO, file: str) -> Text:
    """Read an open file; the middle of one beyond `LIMIT` becomes empty lines."""
    size = os.fstat(stream.fileno()).st_size
    if size <= LIMIT:
        return text(file, stream.read(LIMIT))
    head, left_out, left = stream.read(LIMIT // 2), 0, size - LIMIT
    if size > files.LIMIT:
        stream.seek(size - LIMIT // 2)
        left = 0
    while left > 0 and (block := stream.read(min(left, 1 << 20))):
        left_out += block.count(b"\n")
        left -= len(block)
    return text(file, head + b"\n" * left_out + stream.read(LIMIT // 2))


def logs(folder: Path) -> Iterator[Path]:
    """Find the logs and the autopsy below a run's folder or any workspace of NVFlare, in order."""
    for where, inside, names in os.walk(folder):
        inside.sort()
        for name in sorted(names):
            if Path(where).name == "autopsy":
                wanted = name.endswith(".txt") and not _COPIES.fullmatch(name)
            else:
                wanted = bool(_NAMES.fullmatch(name)) and not (name in ERROR_LOGS and LOG in names)
            if wanted:
                yield Path(where, name)


def since(kernel: Text, started: str) -> Text:
    """Return a kernel log without the lines from before the run."""
    beginning = _moment(started.replace("Z", "+00:00"))
    kept = []
    for line in kernel.raw.split("\n"):
        match = _TIME.match(line)
        logged = match and match[4] and _moment(f"{match[1]}T{match[2]}{match[4]}")
        kept.append("" if beginning and logged and logged < beginning else line)
    return Text(kernel.file, "\n".join(kept))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
