# SPDX-License-Identifier: Apache-2.0
"""Finds in a log the lines that report an error, and what shows that the work went on after them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rekindle.flare.log import TRAINERS

from .ansible_results import rest
from .prefixes import hosts
from .shapes import finder, needles, shape
from .texts import SMALL, Text, ends

_MATTERS = finder(needles("lines"))
"""A line that may matter has one of these, in lower case."""
_CUT, _LOGGED = 4000, 120
_KINDS = ("level", "informs", "warns", "benign", "went_on", "rank")
_LEVEL, _INFORMS, _WARNS, _BENIGN, _WENT_ON, _RANK = map(shape, _KINDS)
_GOES_ON = re.compile(
    r"\s*(?:Caused by:|[├╰]─[▶>](?! \[)|status = |details = |hint: (?=An index URL)|\[?msg\]?:)\s*"
)
_BAR = re.compile(r".{0,200}?\b\d{1,12}/\d{1,12}(?= \[)")
"""How far a progress bar is: at a crash it is often shown once more."""
_ALARMS = re.compile(r"(?i)error|traceback|fail|fatal|killed|exception")
_NEAR, _RANKS = 3, 8


class Line(NamedTuple):
    """One line of a text that may report an error, or that the work went on."""

    number: int
    text: str
    """Without prefixes, and cut; with the cause that it names."""
    printed: str
    """With its logger's prefix."""
    level: bool
    """Whether it is marked as an error."""
    informs: bool
    """Whether it is marked as no error."""
    warns: bool
    """Whether it is marked as a warning."""
    benign: bool
    went_on: bool
    rank: str
    through: int
    """The last line of a message of several."""


def stream(line: str) -> str:
    """Return the rank that printed a line, or nothing."""
    match = _RANK.match(line)
    return next(filter(None, match.groups()), "") if match else ""


def by_rank(text: Text) -> list[Text]:
    """Return a text; of one that several ranks wrote into the part of each of the first."""
    printed = text.raw.split("\n") if len(text.raw) <= SMALL else []
    by = hosts(printed)
    if not by:
        by = list(map(stream, printed))
        counts = Counter(by)
        by = [of if counts[of] > 1 else "" for of in by]
    ranks = [rank for rank in dict.fromkeys(by) if rank]
    alarming = {of for of, line in zip(by, printed, strict=True) if _ALARMS.search(line)}
    ranks = sorted(ranks, key=lambda rank: (rank not in alarming, rank))[:_RANKS]
    if len(ranks) < 2:
        return [text]
    kept = [[number for number, of in enumerate(by) if of in ("", rank)] for rank in ranks]
    return [Text(text.file, "\n".join(printed[at] for at in numbers), tuple(numbers)) for numbers in kept]


def lines(text: Text) -> list[Line]:
    """Return the lines of ``text`` that may matter, in order; of very many those of both ends."""
    seen = text.content if len(text.body) == len(text.raw) else text.raw_line

    def wanted(number: int) -> bool:
        return bool(_MATTERS.search(seen(number)[:_CUT].lower()) and text.content(number).strip())

    return list(_joined(_line(text, number) for number in ends(text.looked_at, wanted)))


def _joined(found: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines; what only goes on with a message is joined to it."""
    last: Line | None = None
    through = 0
    for line in _moving(found):
        if last and line.number <= last.through:
            continue
        goes_on = _GOES_ON.match(line.text)
        near, through = line.number - through <= _NEAR, line.number
        if last and goes_on and near:
            more = f"{last.text.rstrip(':')}: {line.text[goes_on.end() :]}"
            last = last._replace(text=more[:_CUT], level=True)
            continue
        if last:
            yield last
        last = line
    if last:
        yield last


def _moving(found: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines; a bar that was shown before is no progress."""
    bars: set[str] = set()
    for line in found:
        bar = _BAR.match(line.text) if line.went_on else None
        yield line._replace(went_on=False) if bar and bar[0] in bars else line
        bars.update([bar[0]] if bar else [])


def _line(text: Text, number: int) -> Line:
    content = text.content(number)[:_CUT]
    message = content.strip()
    more = rest(text.body, text.start(number), text.start(number) + len(text.content(number)))
    if more:
        message += more
    elif message.endswith(":"):
        message = f"{message} {_next(text, number)}"
    raw = text.raw_line(number)[:_CUT]
    through = any(f" - {name} - " in raw[:_LOGGED] for name in TRAINERS)
    printed = (raw if raw.endswith(content) and not through else content).strip()
    level = bool(_LEVEL.search(printed) or _LEVEL.search(message))
    return Line(
        number=number,
        text=message,
        printed=printed,
        level=level,
        informs=bool(_INFORMS.search(printed) or _INFORMS.search(message)),
        warns=bool(_WARNS.search(printed) or _WARNS.search(message)),
        benign=bool(_BENIGN.search(content)),
        went_on=not level and bool(_WENT_ON.search(content)),
        rank=stream(raw),
        through=number + more.count("\n"),
    )


def _next(text: Text, number: int) -> str:
    """Return the next line that is not empty."""
    end = text.start(number) + len(text.content(number))
    return text.body[end : end + _CUT].lstrip().partition("\n")[0].rstrip()
