"""Searches a text for the catalogue's failures, and for unknown exceptions."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from rekindle.records import Confidence, Finding

from . import versions
from .catalogue import Rank, catalogue
from .texts import Text

_RANKS: tuple[Rank, ...] = ("cause", "symptom", "guess", "echo")
_LESS: dict[Confidence, Confidence] = {"certain": "likely", "likely": "possible", "possible": "possible"}
_LONGEST = 500
_TRACEBACK = re.compile(
    r"^Traceback \(most recent call last\):\n(?P<frames>(?:[ ^+|][^\n]{0,2000}\n|\n){0,400}?)"
    r"(?P<kind>[A-Za-z_][\w.]{0,120})(?::(?P<message>[^\n]{0,2000}))?$",
    re.MULTILINE,
)
_FRAME = re.compile(r'^ +File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7})', re.MULTILINE)
_ENDINGS = ("SignalException", "ChildFailedError", "SystemExit", "KeyboardInterrupt", "_Interrupted")
"""Exceptions that end a process on request, or report that another one failed."""


class Found(NamedTuple):
    """A finding, and its order."""

    finding: Finding
    rank: Rank
    time: str
    nearness: int

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
        place = text.line(match.end()), entry.rank
        by_place.setdefault(place, Found(finding, entry.rank, text.time(line), text.nearness))
    return list(by_place.values())


def known(text: str, installed: Mapping[str, str]) -> Found | None:
    """Return the catalogue's finding in an exception's own text."""
    return min(search(Text("", text), installed), key=lambda found: found.order, default=None)


def raised(text: Text, failed: bool) -> Found | None:
    """Return the last exception in ``text`` that matches no entry.

    Unless something is known to have ``failed``, one that more text follows was handled.
    """
    for match in reversed(list(_TRACEBACK.finditer(text.body))):
        exception = one_line(f"{match['kind']}: {match['message'] or ''}")
        if match["kind"].endswith(_ENDINGS) or known(exception, {}):
            continue
        if not failed and text.body[match.end() :].strip():
            return None
        frames = list(_FRAME.finditer(match["frames"]))
        own = [frame for frame in frames if "site-packages/" not in frame["file"]]
        last = next(reversed(own or frames), None)
        place = f"{last['file'].rpartition('/')[2]}:{last['line']}" if last else "an unknown place"
        line = text.line(match.start("kind"))
        finding = Finding(
            name="exception",
            cause=f"A process raised {exception} at {place}.",
            layer="job",
            remedy=f"Correct what raises at {place}.",
            confidence="likely",
            file=text.file,
            line=line,
        )
        return Found(finding, "cause", text.time(line), text.nearness)
    return None


def one_line(text: str) -> str:
    """Return ``text`` in one line, shortened."""
    words = " ".join(text.split()).rstrip(": ")
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …"
