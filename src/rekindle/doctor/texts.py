# SPDX-License-Identifier: Apache-2.0
"""Reads logs of any bytes and size into texts that the catalogue's patterns can search."""

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import BinaryIO

from rekindle.flare.log import OF_TORCH, PREFIX
from rekindle.flare.workspace import LOG, PARTS, SERVER
from rekindle.host import files, folders

from .prefixes import from_json, without_prefix

LIMIT = files.LIMIT
"""Bytes of one file that are searched, from both ends of a larger one."""
_NAMES = re.compile(
    rf"{'|'.join(map(re.escape, (LOG, *PARTS)))}|.+\.(?:log|out|err|txt|stdout|stderr)(?:\.\d{1, 3})?"
    r"|syslog|messages|dmesg|std(?:out|err)"
)
_LAST = "~"
_COPIES = re.compile(r"(?:logs|ports|nccl)(?:-[^/]+)?\.txt")
"""Files of an autopsy that are not searched: copies of logs, and files for people."""
_RAY = r"\([\w.:-]{1,60} pid=\d{1,10}(?:, ip=[\d.]{7,15})?\) ?"
_VLLM = r"(?:INFO|WARNING|ERROR) \d\d-\d\d [\d:]{8} \[[\w.]{1,60}:\d{1,6}\] "
_PREFIX, _MORE = (
    re.compile(rf"\n(?=[(\[\dCDEIVW]){before}{OF_TORCH}")
    for before in (rf"(?:{PREFIX})?", rf"(?:{_RAY})?(?:{PREFIX}|{_VLLM})?")
)
_NUMBERS = b"0123456789abcdefABCDEF"
_WRITTEN_OVER = re.compile(r"^[^\n]*\r(?=[^\n])", re.MULTILINE)
_LONGEST = 1 << 14
SMALL, _ALIKE = 1 << 18, 20
"""Characters of a text of which every line is looked at; of a larger one, lines of a kind at each end."""
_MOST = 500
"""Lines of each end of a text that are read, of those that may matter."""
_BAR = re.compile(r"^[^\n]{0,400}?\d(?:it/s|s/it)(?:, [^\]\n]{0,200})?\](?=\S)")
"""A progress bar in whose line something else was printed."""
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")
_TIME = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[,.](\d{3})(?:\d{3}([+-]\d\d:\d\d))?", re.MULTILINE
)
_BACK = (1 << 12, 1 << 22)
"""Characters before a line's end in which its time is sought, one after the other."""


@dataclass(frozen=True)
class Text:
    """The text of one file."""

    file: str
    raw: str
    rows: tuple[int, ...] = ()
    """Of a part of a file, where there its lines stand."""

    def place(self, number: int) -> int:
        """Return the number in its file of a line, by its number here."""
        return self.rows[number - 1] + 1 if self.rows else number

    @cached_property
    def body(self) -> str:
        """``raw`` without collectors' and loggers' prefixes, in the same lines."""
        prefix = _MORE if " pid=" in self.raw or ".py:" in self.raw else _PREFIX
        return prefix.sub("\n", f"\n{without_prefix(self.raw)}")[1:]

    @cached_property
    def _line_starts(self) -> list[int]:
        return _starts(self.body)

    @cached_property
    def looked_at(self) -> tuple[int, ...]:
        """Numbers of the lines that are looked at.

        Of many that differ in numbers alone, decimal or hexadecimal, those are the first and the last.
        """
        if len(self.body) <= SMALL:
            return tuple(range(1, len(self._line_starts) + 1))
        alike = self.body.encode("utf-8", "replace").translate(None, _NUMBERS).split(b"\n")
        many = {kind for kind, count in Counter(alike).items() if count > 2 * _ALIKE}
        numbers = {number for number, kind in enumerate(alike, 1) if kind not in many}
        numbers.update(_first(enumerate(alike, 1), many))
        numbers.update(_first(zip(range(len(alike), 0, -1), reversed(alike), strict=True), many))
        return tuple(sorted(numbers))

    @property
    def count(self) -> int:
        """How many lines it has."""
        return len(self._line_starts)

    def content(self, number: int) -> str:
        """Return a line of the body, by its number."""
        return _line(self.body, self._line_starts, number)

    def start(self, number: int) -> int:
        """Return where a line of the body begins."""
        return self._line_starts[min(number, len(self._line_starts)) - 1]

    @cached_property
    def _raw_starts(self) -> list[int]:
        return _starts(self.raw) if len(self.raw) != len(self.body) else self._line_starts

    def raw_line(self, number: int) -> str:
        """Return a line, by its number, with its prefixes."""
        return _line(self.raw, self._raw_starts, number)

    def line(self, position: int) -> int:
        """Return the number of the line at ``position`` of the body."""
        return bisect_right(self._line_starts, position)

    def time(self, line: int) -> str:
        """Return the host's local time of a line, or of the last one not far before it that has one.

        The ladder's files are later than all of the run's.
        """
        if self.file.startswith(f"{folders.LADDER}/"):
            return _LAST
        starts = self._raw_starts
        end = starts[line] if line < len(starts) else len(self.raw)
        for back in _BACK if self.begins else ():
            if times := _TIME.findall(self.raw, max(0, end - back), end):
                return _timestamp(*times[-1])
        return ""

    @cached_property
    def begins(self) -> str:
        """Time of the first line that has one, or nothing."""
        match = _TIME.search(self.raw)
        return _timestamp(*match.groups()) if match else ""

    @cached_property
    def ends(self) -> str:
        """Time of the last line that has one, or nothing."""
        return self.time(len(self._raw_starts)) if self.begins else ""

    @cached_property
    def nearness(self) -> int:
        """How close the file is to what failed: a site's log, then the server's, then others."""
        path = Path(self.file)
        if SERVER in path.parts:
            return 1
        of_site = path.name == LOG and len(path.parts) > 1
        return 0 if of_site or any(part.startswith("site") for part in path.parts) else 2


def ends(numbers: tuple[int, ...], wanted: Callable[[int], bool]) -> list[int]:
    """Return the lines that are wanted, by their numbers; of very many those of both ends."""
    first = list(islice(filter(wanted, numbers), _MOST))
    last = islice(filter(wanted, reversed(numbers)), _MOST if len(first) == _MOST else 0)
    return sorted({*first, *last})


def _starts(text: str) -> list[int]:
    lengths = map(len, text.split("\n"))
    return list(accumulate(map((1).__add__, lengths), initial=0))[:-1]


def _line(text: str, starts: list[int], number: int) -> str:
    return text[starts[number - 1] : starts[number] - 1 if number < len(starts) else None]


def _first(lines: Iterable[tuple[int, bytes]], kinds: set[bytes]) -> Iterator[int]:
    """Yield the numbers of the first lines of each of the kinds."""
    left = dict.fromkeys(kinds, _ALIKE)
    for number, kind in lines:
        if not left:
            break
        if kind in left:
            yield number
            left[kind] -= 1
            if not left[kind]:
                del left[kind]


def text(file: str, content: bytes) -> Text:
    """Return the text of any bytes, without zeros, as holes in a file have.

    Of a line that was written over (progress bars) the last state is kept, of a very long one both ends.
    """
    decoded = content.replace(b"\0", b"").decode("utf-8", "replace")
    if "\r" in decoded:
        decoded = _WRITTEN_OVER.sub("", decoded.replace("\r\n", "\n"))
    if "/s]" in decoded or "/it]" in decoded or _has_long_line(decoded):
        decoded = "\n".join(map(_shown, decoded.split("\n")))
    return Text(file, _COLOUR.sub("", from_json(decoded)))


def _has_long_line(text: str) -> bool:
    at = 0
    while len(text) - at > _LONGEST:
        at = text.rfind("\n", at, at + _LONGEST + 1) + 1
        if not at:
            return True
    return False


def _shown(line: str) -> str:
    if "/s]" in line or "/it]" in line:
        line = _BAR.sub("", line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def read(path: Path, file: str) -> Text:
    """Read the regular file at ``path``, as `read_stream` does.

    Raises:
        OSError: it is not one, or cannot be read.
    """
    with files.opened(path) as stream:
        return read_stream(stream, file)


def read_stream(stream: BinaryIO, file: str) -> Text:
    """Read an open file; the middle of one beyond `LIMIT` becomes empty lines.

    A file with holes is not read through: its lines are counted without those of the middle.
    """
    status = os.fstat(stream.fileno())
    size = status.st_size
    if size <= LIMIT:
        return text(file, stream.read(LIMIT))
    if status.st_blocks * 512 >= size:
        return read_through(stream, file)
    head = stream.read(LIMIT // 2)
    stream.seek(size - LIMIT // 2)
    return text(file, head + stream.read(LIMIT // 2))


def read_through(stream: BinaryIO, file: str) -> Text:
    """Read a stream to its end, as `read_stream` reads a file of the same bytes."""
    half = LIMIT // 2
    head, tail, left_out = stream.read(LIMIT), bytearray(), 0
    while block := stream.read(1 << 20):
        if not tail:
            head, tail = head[:half], bytearray(head[half:])
        tail += block
        beyond = max(0, len(tail) - half)
        left_out += tail.count(b"\n", 0, beyond)
        del tail[:beyond]
    return text(file, head + b"\n" * left_out + bytes(tail))


def logs(folder: Path) -> Iterator[Path]:
    """Find the logs and the autopsy below a run's folder or any workspace of NVFlare, in order."""
    for where, inside, names in os.walk(folder):
        inside.sort()
        for name in sorted(names):
            if Path(where).name == "autopsy":
                wanted = name.endswith(".txt") and not _COPIES.fullmatch(name)
            else:
                wanted = bool(_NAMES.fullmatch(name)) and not (name in PARTS and LOG in names)
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


def seconds(start: str, end: str) -> float | None:
    """Return how long it was from one time of a log's to another; None if one is none."""
    with suppress(ValueError):
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return None


def _timestamp(day: str, second: str, millisecond: str, _zone: str) -> str:
    return f"{day} {second}.{millisecond}"


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
