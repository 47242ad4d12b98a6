# SPDX-License-Identifier: Apache-2.0
"""Searches a text for the catalogue's failures."""

import re
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from rekindle.records import Confidence, Finding

from . import versions
from .catalogue import Entry, Rank, catalogue
from .shapes import shape
from .texts import Text
from .windows import windows

_RANKS: tuple[Rank, ...] = ("cause", "symptom", "guess", "echo")
_LESS: dict[Confidence, Confidence] = {"certain": "likely", "likely": "possible", "possible": "possible"}
_LONGEST, _ROOM = 500, 30
SHORT = 160
"""Characters of a cause that quotes a line."""

_THINGS = tuple(map(shape, ("device", "address", "port", "path")))
"""What a message may name: a device, an address, a port of a host, a path."""


class Found(NamedTuple):
    """A finding, and where in its text it stands."""

    finding: Finding
    rank: Rank
    time: str
    nearness: int
    first: int
    through: int
    """The last line that it is about."""
    last: int
    """The last line that it could as well be about."""
    generic: bool = False
    """Whether another line may say more."""
    weak: bool = False
    """Whether its words say little."""
    settled: bool = False
    """Whether its text went on from it."""
    sure: bool = False
    """Whether the catalogue knows it, or the process itself wrote it down."""

    @property
    def order(self) -> tuple[int, int, str, int, str, int, bool]:
        """Causes before symptoms before echoes; what says more; the earliest; the nearest to what failed."""
        line = self.finding.line or 0
        return (
            _RANKS.index(self.rank),
            (not self.sure) + self.weak,
            self.time,
            self.nearness,
            self.finding.file or "",
            line,
            not self.generic,
        )


def search(text: Text, installed: Mapping[str, str]) -> list[Found]:
    """Return the first place of each entry in ``text``; ``installed`` are versions by package."""
    by_place: dict[tuple[int, Rank], Found] = {}
    parts = windows(text)
    for entry in catalogue():
        applies = versions.apply(entry.versions, installed)
        match = None if applies is False else _first(entry, text, parts)
        if match is None:
            continue
        line = text.line(match.end() if match.group().startswith("\n") else match.start())
        sure = entry.confidence if applies else _LESS[entry.confidence]
        finding = Finding(
            name=entry.name,
            cause=one_line(_quoting(entry, match)),
            layer=entry.layer,
            remedy=entry.remedy,
            confirm=entry.command(match),
            confidence=sure,
            file=text.file,
            line=line,
        )
        through = text.line(match.end())
        last = text.line(_last(entry, text, parts).end())
        found = Found(
            finding,
            entry.rank,
            text.time(line),
            text.nearness,
            line,
            through,
            last,
            entry.generic,
            sure=not entry.generic,
        )
        by_place.setdefault((through, entry.rank), found)
    return list(by_place.values())


def _first(entry: Entry, text: Text, parts: tuple[tuple[int, int], ...]) -> re.Match[str] | None:
    matches = (entry.expression.search(text.body, start, end) for start, end in parts)
    match = next(filter(None, matches), None)
    return None if match is None or entry.refuted(text.body[: match.start()]) else match


def _last(entry: Entry, text: Text, parts: tuple[tuple[int, int], ...]) -> re.Match[str]:
    matches = (match for start, end in parts for match in entry.expression.finditer(text.body, start, end))
    return deque(matches, 1)[0]


def _quoting(entry: Entry, match: re.Match[str]) -> str:
    """Return the cause; where it names nothing, with its line, as far as a cause has room."""
    cause = entry.message(match)
    room = SHORT - len(cause)
    if any(match.groupdict().values()) or entry.rank == "echo" or room < _ROOM:
        return cause
    start = match.string.rfind("\n", 0, match.start() + 1) + 1
    line = match.string[start : start + _LONGEST * 8].partition("\n")[0]
    return f"{cause[:-1]}: {around(line, match.start() - start, room)}"


def known(text: str, installed: Mapping[str, str]) -> Found | None:
    """Return the catalogue's finding in an exception's own text."""
    return min(search(Text("", text), installed), key=lambda found: found.order, default=None)


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` in one line, shortened."""
    words = " ".join(text.split()).rstrip(": ")
    return words if len(words) <= longest else f"{words[:longest]} …"


def names_thing(text: str) -> bool:
    """Whether ``text`` names a device, an address, a port of a host or a path."""
    return any(thing.search(text) for thing in _THINGS)


def around(text: str, focus: int, longest: int) -> str:
    """Return as much of ``text``, in one line, around a place in it as has room, and what else it names."""
    words = one_line(text, len(text))
    if len(words) <= longest:
        return words
    shown = _cut(words, focus, longest)
    named = [match[0] for thing in _THINGS if (match := thing.search(words)) and match[0] not in shown]
    more = f" ({named[0]})" if named else ""
    return f"{_cut(words, focus, longest - len(more))}{more}" if len(more) < longest // 3 else shown


def _cut(words: str, focus: int, longest: int) -> str:
    before = max(0, min(focus - longest // 3, len(words) - longest + 2)) if focus > longest * 2 // 3 else 0
    cut = f"… {words[before:].partition(' ')[2]}" if before else words
    return cut if len(cut) <= longest else one_line(cut, longest - 2)
