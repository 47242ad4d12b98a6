# SPDX-License-Identifier: Apache-2.0
"""What an error message is about: its layer, whether that is a cause, and a remedy."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from msgspec.structs import replace

from rekindle.records import Layer, allow_decoding, decode_json

from .codes import Meaning, find_code
from .shapes import load_shape

_PATH = re.compile(
    r"\['[^'\n]{0,400}'(?:, '[^'\n]{0,400}'){1,200}\]"
    r"|(?:https?://|(?<![\w/])[.~]{0,2}/)(?:[\w.~@%+-]{0,200}/){0,40}[\w.@%+~-]{0,200}"
    r"|(?<![\w/])(?:[\w.~-]{1,200}/){2,40}[\w.@%+~-]{0,200}|(?<![\w/])[\w.~-]{1,200}/[\w@%+~-]{0,200}\.\w{1,8}\b"
)
"""A path, or a command with its arguments: their words are not the message's."""
_TOKEN = re.compile(r"[^\W_]+")
_PLACES: dict[str, tuple[tuple[Layer, re.Pattern[str]], ...]] = {
    "A file is missing": (
        ("driver", load_shape("missing: driver")),
        ("environment", load_shape("missing: environment")),
        ("host", load_shape("missing: host")),
    ),
    "A program is missing": (("driver", load_shape("missing: driver")),),
    "A connection fails": (("host", load_shape("connection: host")),),
}
"""Whose a fault is by the place in its message, where its words do not tell."""
_BEGINNING = 4
_CLOSING = " .)'\"0123456789"
_SHORT, _LONG = 5, 12


class Subject(NamedTuple):
    """What a message is about, and where in it that stands."""

    row: Meaning
    start: int
    length: int


_ALL = allow_decoding(tuple[Meaning, ...])


class _Words(NamedTuple):
    """Words of a row."""

    order: int
    """Their place among all, the longest first: the specific before the generic."""
    parts: tuple[str, ...]
    row: Meaning


@cache
def _words() -> dict[str, list[_Words]]:
    """Return all words by the beginning of their first word."""
    rows = decode_json(files(__package__).joinpath("subjects.json").read_bytes(), _ALL)
    pairs = sorted(((words, row) for row in rows for words in row.words), key=lambda pair: -len(pair[0]))
    by_beginning: dict[str, list[_Words]] = {}
    for order, (words, row) in enumerate(pairs):
        parts = tuple(part for part in words.split("*") if part)
        first = _TOKEN.search(parts[0])
        by_beginning.setdefault(first[0][:_BEGINNING] if first else "", []).append(_Words(order, parts, row))
    return by_beginning


def find_subject(message: str) -> Subject | None:
    """Return what ``message`` is about by the longest words in it that are known; None if none are.

    Words within longer ones do not count, those of an echo only without those of a cause, and weak ones only
    without others; a type's name at the beginning says least. What a message ends with is why all failed.
    """
    message = " ".join(message.split())
    text = _PATH.sub(lambda path: "_" * len(path[0]), message).lower()
    found = _outer(_found(text))
    strong = [one for one in found if one.row.rank != "echo" and not one.row.weak]
    vague = {
        one
        for one in strong
        if one.row.rank != "cause" or " " not in text[one.start : one.start + one.length]
    }
    strong.sort(key=lambda one: (one in vague) + (one.row.rank != "cause"))
    at_end = [one for one in strong if not text[one.start + one.length :].strip(_CLOSING)]
    reasons = [one for one in at_end if one.row.rank == "cause" and one.length >= _LONG]
    first = next(iter(reasons or strong), None)
    if first and first not in reasons:
        least = first.length + 1 if first in vague or first.length < _LONG else 2 * first.length
        echo = next((one for one in found if one.row.rank == "echo" and one.length >= least), None)
        row = replace(first.row, rank="echo", meaning="") if echo else first.row
        first = first._replace(row=row)
    known = find_code(message)
    coded = Subject(*known, 0) if known else None
    if policy := next((one for one in found if one.row.decides), None):
        first = policy
    elif coded and (coded.row.rank == "cause" or first is None or first.row.rank != "cause"):
        first = coded
    first = first or next((one for one in found if one.start), None) or next(iter(found), None)
    return first and _placed(first, message)


def find_layer(message: str) -> Layer:
    """Return the layer of a failure that somebody states: by a cause's words in it, else the job's."""
    about = find_subject(message)
    return about.row.layer if about and about.row.rank == "cause" and not about.row.weak else "job"


def _placed(about: Subject, message: str) -> Subject:
    """Return what a message is about, of the layer of the place that it names nearest to its words."""
    end = about.start + about.length
    paths = list(_PATH.finditer(message))
    near = min(reversed(paths), key=lambda one: max(about.start - one.end(), one.start() - end), default=None)
    named = message[max(0, near.start() - _LONG) : near.end()] if near else message
    for layer, place in _PLACES.get(about.row.meaning, ()):
        if place.search(named):
            return about._replace(row=replace(about.row, layer=layer, weak=False))
    return about


def _outer(found: Iterable[Subject]) -> list[Subject]:
    """Return subjects, the longest first, without those whose words stand within another's."""
    kept: list[Subject] = []
    for one in found:
        end = one.start + one.length
        if not any(other.start <= one.start and end <= other.start + other.length for other in kept):
            kept.append(one)
    return kept


def _found(text: str) -> Iterator[Subject]:
    known = _words()
    beginnings = {token[:_BEGINNING] for token in _TOKEN.findall(text)}
    likely = (one for beginning in beginnings for one in known.get(beginning, ()) if one.parts[0] in text)
    for words in sorted(likely):
        start = end = -1
        for part in words.parts:
            at = _at(text, part, max(end, 0))
            if at < 0:
                break
            start, end = (at if start < 0 else start), at + len(part)
        else:
            yield Subject(words.row, start, end - start)


def _at(text: str, part: str, after: int) -> int:
    """Return where ``part`` stands in ``text`` as words of its own, or -1."""
    at = text.find(part, after)
    while at >= 0:
        end = at + len(part)
        begins = not part[0].isalnum() or at == 0 or not text[at - 1].isalnum()
        ends = len(part) > _SHORT or not part[-1].isalnum() or not text[end : end + 1].isalnum()
        if begins and ends:
            return at
        at = text.find(part, at + 1)
    return -1
