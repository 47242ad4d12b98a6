# SPDX-License-Identifier: Apache-2.0
"""Reads logs of any bytes and size into texts that the catalogue's patterns can search."""

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from rekindle.flare.log import OF_TORCH, PREFIX
from rekindle.flare.workspace import LOG, PARTS, SERVER
from rekindle.host import files, folders

from .prefixes import find_producers, read_json_lines, strip_prefixes

LIMIT = files.LIMIT
"""Bytes of one file that are searched, from both ends of a larger one."""
_NAMES = re.compile(
    rf"{'|'.join(map(re.escape, (LOG, *PARTS)))}|.+\.(?:log|out|err|txt|stdout|stderr)(?:\.\d{{1,3}})?"
    r"|syslog|messages|dmesg|std(?:out|err)"
)
_JOB_ID = re.compile(r"[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}")
"""The name of a job's folder inside that of a member: NVFlare's POC and production modes have one a job."""
_LAST = "~"
_COPIES = re.compile(r"(?:logs|ports|nccl)(?:-[^/]+)?\.txt")
"""Files of an autopsy that are not searched: copies of logs, and files for people."""
_RAY = r"\([\w.:-]{1,60} pid=\d{1,10}(?:, ip=[\d.]{7,15})?\) ?"
_VLLM = r"(?:INFO|WARNING|ERROR) \d\d-\d\d [\d:]{8} \[[\w.]{1,60}:\d{1,6}\] "
_PREFIX = re.compile(rf"\n(?=[(\[\dCDEIVW])(?:{_RAY})?(?:{PREFIX}|{_VLLM})?{OF_TORCH}")
_WRITTEN_OVER = re.compile(r"^[^\n]*\r(?=[^\n])", re.MULTILINE)
_LONG = re.compile(r"\n([^\n]{8192})[^\n]*([^\n]{8192})")
"""A line of which both ends are kept."""
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")
_TIME = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[,.](\d{3})(?:\d{3}([+-]\d\d:\d\d))?", re.MULTILINE
)
_ALARMS = re.compile(r"(?i)error|traceback|fail|fatal|killed|exception")
_RANKS = 8
_HEAD, _FEW, _CONTROLS = 1 << 14, 50, re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Characters by which a text is known; of those one in so many is a control character, but for those that
terminals take."""


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

    @property
    def is_binary(self) -> bool:
        """Whether it is no text: compressed, say, of which every tenth byte is a control character."""
        head = self.raw[:_HEAD]
        return len(_CONTROLS.findall(head)) * _FEW > len(head)

    @cached_property
    def body(self) -> str:
        """``raw`` without collectors' and loggers' prefixes, in the same lines."""
        return _PREFIX.sub("\n", f"\n{strip_prefixes(self.raw)}")[1:]

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the body."""
        return self.body.split("\n")

    @cached_property
    def raw_lines(self) -> list[str]:
        """Lines with their prefixes."""
        return self.raw.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def line(self, position: int) -> int:
        """Return the number of the line at ``position`` of the body."""
        return bisect_right(self._starts, position, hi=len(self.lines))

    def start(self, number: int) -> int:
        """Return where a line of the body begins."""
        return self._starts[number - 1]

    def content(self, number: int) -> str:
        """Return a line of the body, by its number."""
        return self.lines[number - 1]

    def raw_line(self, number: int) -> str:
        """Return a line, by its number, with its prefixes."""
        return self.raw_lines[number - 1]

    @cached_property
    def _times(self) -> list[str]:
        times = (_timestamp(_TIME.match(line)) for line in self.raw_lines)
        return list(accumulate(times, _later))

    def time(self, number: int) -> str:
        """Return the host's local time of a line, or of the last one before it that has one.

        The ladder's files are later than all of the run's.
        """
        return _LAST if self.file.startswith(f"{folders.LADDER}/") else self._times[number - 1]

    @cached_property
    def begins(self) -> str:
        """Time of the first line that has one, or nothing."""
        return next(filter(None, self._times), "")

    @property
    def ends(self) -> str:
        """Time of the last line that has one, or nothing."""
        return self._times[-1]

    @cached_property
    def last(self) -> int:
        """The number of the last line that is not empty."""
        return self.raw.rstrip().count("\n") + 1

    @cached_property
    def member(self) -> str:
        """Whose log of NVFlare's it is: the server's, a site's, of one job too; nothing of another file."""
        path = Path(self.file)
        folder = path.parent.parent if _JOB_ID.fullmatch(path.parent.name) else path.parent
        return folder.name if path.name in (LOG, *PARTS) else ""

    @cached_property
    def nearness(self) -> int:
        """How close the file is to what failed: a site's log, then the server's, then others."""
        parts = Path(self.file).parts
        if SERVER in parts:
            return 1
        return 0 if self.member or any(part.startswith("site") for part in parts) else 2


def decode_text(file: str, content: bytes) -> Text:
    """Return the text of any bytes, without zeros, as holes in a file have.

    Of a line that was written over (progress bars) the last state is kept, of a very long one both ends.
    """
    decoded = content.replace(b"\0", b"").decode("utf-8", "replace")
    if "\r" in decoded:
        decoded = _WRITTEN_OVER.sub("", decoded.replace("\r\n", "\n"))
    decoded = _LONG.sub(r"\n\1 … \2", f"\n{decoded}")[1:]
    plain = _COLOUR.sub("", decoded)
    if records := read_json_lines(plain):
        rows, lines = zip(*records, strict=True)
        return Text(file, _COLOUR.sub("", "\n".join(lines)), rows)
    return Text(file, plain)


def split_ranks(text: Text) -> list[Text]:
    """Return a text; of one that several ranks wrote into the part of each of the first."""
    printed = text.raw_lines
    by = find_producers(text.raw)
    alarming = {of for of, line in zip(by, printed, strict=True) if _ALARMS.search(line)}
    ranks = sorted({*by} - {""}, key=lambda rank: (rank not in alarming, rank))[:_RANKS]
    if len(ranks) < 2:
        return [text]
    kept = [[at for at, of in enumerate(by) if of in ("", rank)] for rank in ranks]
    rows = text.rows or range(len(printed))
    return [Text(text.file, "\n".join(printed[n] for n in at), tuple(rows[n] for n in at)) for at in kept]


def read_text(path: Path, file: str) -> Text:
    """Read the regular file at ``path``, as `read_stream` does.

    Raises:
        OSError: it is not one, or cannot be read.
    """
    with files.open_file(path) as stream:
        return read_stream(stream, file)


def read_stream(stream: BinaryIO, file: str) -> Text:
    """Read an open file or a pipe to its end; the middle of one beyond `LIMIT` becomes empty lines.

    A device has no end, and a file with holes is not read through: lines of its middle are not counted.
    """
    half = LIMIT // 2
    head, tail, left_out = stream.read(LIMIT), bytearray(), 0
    with suppress(OSError):
        status = os.fstat(stream.fileno())
        if stat.S_ISCHR(status.st_mode):
            return decode_text(file, head)
        if status.st_size > LIMIT and status.st_blocks * 512 < status.st_size:
            stream.seek(-half, os.SEEK_END)
            return decode_text(file, head[:half] + stream.read(half))
    while block := stream.read(1 << 20):
        if not tail:
            head, tail = head[:half], bytearray(head[half:])
        tail += block
        beyond = max(0, len(tail) - half)
        left_out += tail.count(b"\n", 0, beyond)
        del tail[:beyond]
    return decode_text(file, head + b"\n" * left_out + bytes(tail))


def find_logs(folder: Path) -> Iterator[Path]:
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


def cut_before(kernel: Text, started: str) -> Text:
    """Return a kernel log without the lines from before the run."""
    beginning = _moment(started.replace("Z", "+00:00"))
    kept = []
    for line in kernel.raw.split("\n"):
        match = _TIME.match(line)
        logged = match and match[4] and _moment(f"{match[1]}T{match[2]}{match[4]}")
        kept.append("" if beginning and logged and logged < beginning else line)
    return Text(kernel.file, "\n".join(kept))


def count_seconds(start: str, end: str) -> float | None:
    """Return how long it was from one time of a log's to another; None if one is none."""
    with suppress(ValueError):
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return None


def _timestamp(stamp: re.Match[str] | None) -> str:
    return f"{stamp[1]} {stamp[2]}.{stamp[3]}" if stamp else ""


def _later(last: str, time: str) -> str:
    return time or last


def _moment(text: str) -> datetime | None:
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else None
    return None
