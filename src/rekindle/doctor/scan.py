# SPDX-License-Identifier: Apache-2.0
"""Searches a text for the catalogue's failures."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from rekindle.records import Confidence, Finding

from .catalogue import Entry, Rank, load_catalogue, match_releases
from .shapes import load_shape
from .subjects import load_statements
from .texts import Text

_RANKS: tuple[Rank, ...] = ("cause", "warning", "symptom", "guess", "echo")
_LESS: dict[Confidence, Confidence] = {"certain": "likely", "likely": "possible", "possible": "possible"}
_SURE: dict[str, Confidence] = {"all": "certain", "": "likely", "little": "possible"}
DOUBTS = {"all": 0, "": 1, "little": 2}
"""Of a match, by how much its row tells."""
_LONGEST, _ROOM = 500, 30
_ADVICE = load_shape("advice")
_ADVISED = 2_000
"""Characters of a message in which it is sought."""
SHORT = 200
"""Characters of a cause that quotes a line."""


class Match(NamedTuple):
    """A finding, and where in its text it stands."""

    finding: Finding
    rank: Rank
    time: str
    nearness: int
    at: int
    """The line that shows it."""
    covers: frozenset[int]
    """The lines that say it, wherever they repeat it; none if a peer that is gone explains all of them."""
    doubt: int = 1
    """Nothing if the catalogue knows it, the process itself wrote it down, or it names a policy; 2 if its
    words say little."""
    settled: bool = False
    """Whether its text went on from it."""

    @property
    def fails(self) -> bool:
        """Whether it shows a failure: no warning, no echo, and nothing that its text went on from."""
        return not self.settled and self.rank not in ("warning", "echo")

    def is_at(self, other: "Match") -> bool:
        """Whether both stand in one line of one file."""
        return (self.finding.file, self.finding.line) == (other.finding.file, other.finding.line)

    @property
    def order(self) -> tuple[int, int, str, int, str, int]:
        """By rank; what says more; the earliest; the nearest to what failed."""
        finding = self.finding
        rank = _RANKS.index(self.rank)
        return rank, self.doubt, self.time, self.nearness, finding.file or "", finding.line or 0


def make_find(text: Text, at: int, rank: Rank, finding: Finding, covers: Iterable[int] = ()) -> Match:
    """Return what a line of a text shows, and the lines that ``covers`` names."""
    finding = replace(finding, file=text.file, line=text.place(at))
    return Match(finding, rank, text.time(at), text.nearness, at, frozenset((at, *covers)))


def make_stated(text: Text, at: int, name: str, **words: str) -> Match:
    """Return what is stated of a line, with words for those in braces."""
    said = load_statements()[name]
    cause = said.meaning.format(**words)
    finding = Finding(
        name=name, cause=cause, layer=said.layer, remedy=said.remedy, confidence=_SURE[said.tells]
    )
    return make_find(text, at, said.rank, finding)._replace(doubt=DOUBTS[said.tells])


def search_catalogue(text: Text, installed: Mapping[str, str]) -> Iterator[Match]:
    """Yield each entry that ``text`` has, with all its lines; ``installed`` are versions by package."""
    for entry in load_catalogue():
        applies = match_releases(entry.versions, installed)
        matches = iter(()) if applies is False else entry.expression.finditer(text.body)
        match = next(matches, None)
        if match is None or entry.is_refuted(text.body[: match.start()]):
            continue
        places = [(text.line(one.start()), text.line(one.end())) for one in (match, *matches)]
        finding = Finding(
            name=entry.name,
            cause=cut_line(_quoting(entry, match)),
            layer=entry.layer,
            remedy=entry.remedy,
            confirm=entry.command(match),
            confidence=entry.confidence if applies else _LESS[entry.confidence],
        )
        at = text.line(match.end() if match.group().startswith("\n") else match.start())
        covers = (line for first, end in places for line in range(first, end + 1))
        yield make_find(text, at, entry.rank, finding, covers)._replace(doubt=0)


def _quoting(entry: Entry, match: re.Match[str]) -> str:
    """Return the cause; where it names nothing, with its line, as far as a cause has room."""
    cause = entry.message(match)
    room = SHORT - len(cause)
    if any(match.groupdict().values()) or entry.rank in ("echo", "guess") or room < _ROOM:
        return cause
    start = match.string.rfind("\n", 0, match.start() + 1) + 1
    line = match.string[start : start + _LONGEST * 8].partition("\n")[0]
    return f"{cause[:-1]}: {quote_place(line, match.start() - start, room)}"


def find_known(text: str, installed: Mapping[str, str]) -> Match | None:
    """Return the catalogue's finding in an exception's own text."""
    return min(search_catalogue(Text("", text), installed), key=lambda found: found.order, default=None)


def find_advice(message: str) -> str:
    """Return a remedy that quotes what a message advises, or nothing; whoever wrote the log says it."""
    advice = _ADVICE.search(message, 0, _ADVISED)
    return f'The message itself says: "{cut_line(advice[0], SHORT)}"' if advice else ""


def cut_line(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` in one line, shortened."""
    words = " ".join(text.split()).rstrip(": ")
    return words if len(words) <= longest else f"{words[:longest]} …"


def quote_place(text: str, focus: int, longest: int) -> str:
    """Return as much of ``text``, in one line, around a place in it as has room."""
    words = cut_line(text, len(text))
    before = max(0, min(focus - longest // 3, len(words) - longest)) if focus > longest * 2 // 3 else 0
    return cut_line(f"… {words[before:].partition(' ')[2]}" if before else words, longest)
