"""Searches a text for the catalogue's failures."""

from collections.abc import Mapping
from typing import NamedTuple

from rekindle.records import Confidence, Finding

from . import versions
from .catalogue import Rank, catalogue
from .texts import Text

_RANKS: tuple[Rank, ...] = ("cause", "symptom", "guess", "echo")
_LESS: dict[Confidence, Confidence] = {"certain": "likely", "likely": "possible", "possible": "possible"}
_LONGEST = 500
class Found(NamedTuple):
    """A finding, and its order."""

    finding: Finding
    rank: Rank
    time: str
    nearness: int
    through: int = 0
    """The last line that it is about."""

    @property
    def order(self) -> tuple[int, str, int, str, int]:
        """Causes before symptoms before echoes; then the earliest, then the nearest to what failed."""
        line = self.finding.line or 0
        return _RANKS.index(self.rank), self.time, self.nearness, self.finding.file or "", line


def search(text: Text, installed: Mapping[str, str]) -> list[Found]:
    """Return the first place of each entry in ``text``; ``installed`` are versions by package."""
    by_place: dict[tuple[int, Rank], Found] = {}
    for entry in catalogue():
        applies = versions.apply(entry.versions, installed)
        match = None if applies is False else entry.expression.search(text.body)
        if match is None:
            continue
        line = text.line(match.end() if match.group().startswith("\n") else match.start())
        sure = entry.confidence if applies else _LESS[entry.confidence]
        finding = Finding(
            name=entry.name,
            cause=one_line(entry.message(match)),
            layer=entry.layer,
            remedy=entry.remedy,
            confidence=sure,
            file=text.file,
            line=line,
        )
        through = text.line(match.end())
        found = Found(finding, entry.rank, text.time(line), text.nearness, through)
        by_place.setdefault((through, entry.rank), found)
    return list(by_place.values())


def known(text: str, installed: Mapping[str, str]) -> Found | None:
    """Return the catalogue's finding in an exception's own text."""
    return min(search(Text("", text), installed), key=lambda found: found.order, default=None)


def one_line(text: str) -> str:
    """Return ``text`` in one line, shortened."""
    words = " ".join(text.split()).rstrip(": ")
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …"
