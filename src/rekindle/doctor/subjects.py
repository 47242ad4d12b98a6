# SPDX-License-Identifier: Apache-2.0
"""What an error message is about, by a code or by words in it: a layer, a remedy, whether it is a cause."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rekindle.host.rooms import read_rooms
from rekindle.records import Layer, allow_decoding, decode_json

from .catalogue import Rank

_PATH = re.compile(
    r"\['[^'\n]{0,400}'(?:, '[^'\n]{0,400}'){1,200}\]"
    r"|(?:https?://|(?<![\w/])[.~]{0,2}/)(?:[\w.~@%+-]{0,200}/){0,40}[\w.@%+~-]{0,200}"
    r"|(?<![\w/])(?:[\w.~-]{1,200}/){2,40}[\w.@%+~-]{0,200}|(?<![\w/])[\w.~-]{1,200}/[\w@%+~-]{0,200}\.\w{1,8}\b"
)
"""A path, or a command with its arguments: their words are not the message's."""
_CLOSING = " .)'\"0123456789"
_SHORT, _LONG = 5, 12


class Meaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a code means, or messages of one subject, as ``codes.json`` and ``subjects.json`` have them."""

    layer: Layer
    rank: Rank
    meaning: str
    """What goes wrong, in a few words; empty where the message itself is all that is known."""
    remedy: str
    words: tuple[str, ...] = ()
    """In lower case; ``*`` is anything between. A code has none."""
    weak: bool = False
    """Whether any other cause's words say more."""
    decides: bool = False
    """Whether they name a policy, a limit or a refusal: before codes and other words."""
    places: dict[Layer, str] = {}
    """Whose fault it is if the message names such a place, where its words do not tell."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The codes of one origin, as ``codes.json`` has them."""

    table: str
    source: str
    pattern: str
    """Regular expression over a message; the first of its groups that is not empty is the code."""
    rows: dict[str, Meaning]
    """By code; the file has codes that mean the same in one row, with spaces between them."""


class Subject(NamedTuple):
    """What a message is about, and where in it that stands."""

    row: Meaning
    start: int
    end: int

    @property
    def is_certain(self) -> bool:
        """Whether it is a cause that says enough."""
        return self.row.rank == "cause" and not self.row.weak


_TABLES = allow_decoding(tuple[Table, ...])
_ROWS = allow_decoding(tuple[Meaning, ...])


@cache
def load_tables() -> tuple[Table, ...]:
    """Return all tables, those of other rooms too, with a row for each code."""
    return tuple(
        replace(table, rows={code: row for codes, row in table.rows.items() for code in codes.split()})
        for text in read_rooms("codes.json")
        for table in decode_json(text, _TABLES)
    )


@cache
def _words() -> list[tuple[str, str, Meaning]]:
    """Return all words, the longest first: the specific before the generic; each after its beginning."""
    rows = (row for text in read_rooms("subjects.json") for row in decode_json(text, _ROWS))
    pairs = [(words, row) for row in rows for words in row.words]
    return [
        (words.partition("*")[0], words, row) for words, row in sorted(pairs, key=lambda one: -len(one[0]))
    ]


def find_subject(message: str) -> Subject | None:
    """Return what ``message`` is about by a code or by the longest known words in it; None if it has none.

    A policy decides before a code, and a code before words; a cause before what may only follow from one, and
    weak words only without others, least a type's name at the beginning. What a message ends with is why all
    failed.
    """
    message = " ".join(message.split())
    text = _PATH.sub(lambda path: "_" * len(path[0]), message).lower()

    def order(one: Subject) -> tuple[bool, ...]:
        row = one.row
        reason = one.is_certain and one.end - one.start >= _LONG and not text[one.end :].strip(_CLOSING)
        return (
            not row.decides,
            bool(row.words),
            not reason,
            row.weak or row.rank == "echo",
            row.weak and not one.start,
            row.rank != "cause",
        )

    about = min((*_find_codes(message), *_find_words(text)), key=order, default=None)
    return about and _placed(about, message)


def _placed(about: Subject, message: str) -> Subject:
    """Return what a message is about, of the layer of the place that it names nearest to its words."""
    paths = reversed([*_PATH.finditer(message)] if about.row.places else [])
    near = min(paths, key=lambda one: max(about.start - one.end(), one.start() - about.end), default=None)
    named = message[max(0, near.start() - _LONG) : near.end()] if near else message
    for layer, place in about.row.places.items():
        if re.search(place, named):
            return about._replace(row=replace(about.row, layer=layer, weak=False))
    return about


def find_layer(message: str) -> Layer:
    """Return the layer of a failure that somebody states: by a cause's words in it, else the job's."""
    about = find_subject(message)
    return about.row.layer if about and about.is_certain else "job"


def _find_codes(message: str) -> Iterator[Subject]:
    for table in load_tables():
        for match in re.finditer(table.pattern, message):
            if row := table.rows.get(next(filter(None, match.groups()), "")):
                yield Subject(row, *match.span())


def _find_words(text: str) -> Iterator[Subject]:
    """Yield the known words in ``text``, the longest first, but none within longer ones."""
    covered: list[Subject] = []
    for beginning, words, row in _words():
        if beginning in text and (match := _expression(words).search(text)):
            one = Subject(row, *match.span())
            if not any(other.start <= one.start and one.end <= other.end for other in covered):
                covered.append(one)
                yield one


@cache
def _expression(words: str) -> re.Pattern[str]:
    """Return the expression of words; they begin where a word does, and short ones end where one does."""
    begins = r"(?<![^\W_])" if words[0].isalnum() else ""
    ends = r"(?![^\W_])" if len(words) <= _SHORT and words[-1].isalnum() else ""
    return re.compile(begins + ".{0,400}?".join(map(re.escape, words.split("*"))) + ends)
