# SPDX-License-Identifier: Apache-2.0
"""What an error message is about, by a code or by words in it: a layer, a remedy, whether it is a cause."""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from operator import itemgetter
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from rekindle.host.rooms import read_rooms
from rekindle.records import Layer, allow_decoding, decode_json

from .catalogue import Rank

_PATH = re.compile(
    r"\['[^'\n]{0,400}'(?:, '[^'\n]{0,400}'){1,200}\]"
    r"|(?:https?://|(?<![\w/])[.~]{0,2}/)(?:[\w.~@%+-]{0,200}/){0,40}[\w.@%+~-]{0,200}"
    r"|(?<=\] )RUN [^\n]{1,400}|(?<=process )\"[^\"\n]{1,400}\""
    r"|(?<![\w/])(?:[\w.~-]{1,200}/){2,40}[\w.@%+~-]{0,200}|(?<![\w/])[\w.~-]{1,200}/[\w@%+~-]{0,200}\.\w{1,8}\b"
)
"""A path, or a command with its arguments."""
_CLOSING = re.compile(r"(?:\(os error|[ .?)'\"\d])*")
_SHORT, _FEW, _LONG = 5, 10, 12
_BEGIN = 3
"""Letters by which words are looked up."""
_PLACE = itemgetter(0)


class Meaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a code means, or messages of one subject, or what is stated of a workspace: rows of data."""

    layer: Layer
    remedy: str
    meaning: str = ""
    """What goes wrong, in a few words; nothing where the message itself is all that is known."""
    rank: Rank = "cause"
    words: tuple[str, ...] = ()
    """In lower case; ``*`` is anything between. A code has none."""
    tells: Literal["all", "", "little"] = ""
    """All if they name a policy, a limit or a refusal; little if any other cause's words say more."""
    places: dict[Layer, str] = {}
    """Whose fault it is if the message names such a place, where its words do not tell."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The codes of one origin, as ``codes.json`` has them."""

    table: str
    source: str
    pattern: str
    """Regular expression over a message; the first of its groups that is not empty is the code.

    ``{codes}`` is any of the codes.
    """
    rows: dict[str, Meaning | str]
    """By codes of one meaning, with bars between them; a text is that of a row of ``subjects.json``."""
    tells: Literal["", "general"] = ""
    """General if known words say more than it, as they do more than the type of an exception."""

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """By each code."""
        named = {row.meaning: row for row in reversed(load_rows())}
        return {
            code: named[row] if isinstance(row, str) else row
            for codes, row in self.rows.items()
            for code in codes.split("|")
        }

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The compiled pattern."""
        codes = sorted(map(re.escape, self.meanings), key=len, reverse=True)
        return re.compile(self.pattern.replace("{codes}", "|".join(codes)))


class Level(IntEnum):
    """How much evidence tells, from most to least."""

    POLICY = 0
    CODE = 1
    WORDS = 2
    GENERAL = 3
    """A type of exception, an error number, what is missing: known words say more."""
    SYMPTOM = 4
    WEAK = 5
    ECHO = 6
    NAME = 7
    """Weak words with which a message begins: the type of an exception."""


class Subject(NamedTuple):
    """What a message is about, and where in it that stands."""

    row: Meaning
    start: int
    end: int
    level: Level

    @property
    def is_sure(self) -> bool:
        """Whether it says enough to be believed."""
        return self.level <= Level.GENERAL

    @property
    def is_certain(self) -> bool:
        """Whether it is a cause that says enough."""
        return self.is_sure and self.row.rank == "cause" and self.row.tells != "little"


_TABLES = allow_decoding(tuple[Table, ...])
_ROWS = allow_decoding(tuple[Meaning, ...])
_STATEMENTS = allow_decoding(dict[str, Meaning])


@cache
def load_statements() -> dict[str, Meaning]:
    """Return what is stated of what no words tell: of a workspace's members, and of what imports lack."""
    return decode_json(files(__package__).joinpath("statements.json").read_bytes(), _STATEMENTS)


@cache
def load_rows() -> tuple[Meaning, ...]:
    """Return all rows of words, those of other rooms too."""
    return tuple(row for text in read_rooms("subjects.json") for row in decode_json(text, _ROWS))


@cache
def load_tables() -> tuple[Table, ...]:
    """Return all tables of codes, those of other rooms too."""
    return tuple(table for text in read_rooms("codes.json") for table in decode_json(text, _TABLES))


@cache
def _words() -> dict[str, list[tuple[int, str, str, Meaning]]]:
    """Return all words by the letters with which they begin, and the place of each: the longest is first."""
    pairs = sorted(((words, row) for row in load_rows() for words in row.words), key=lambda one: -len(one[0]))
    found: dict[str, list[tuple[int, str, str, Meaning]]] = {}
    for place, (words, row) in enumerate(pairs):
        found.setdefault(words[:_BEGIN], []).append((place, words.partition("*")[0], words, row))
    return found


@lru_cache(maxsize=4096)
def find_subject(message: str) -> Subject | None:
    """Return what ``message`` is about by the evidence in it that tells most; None if it has none.

    Of words of one level those count with which it ends: they are why all failed; then the longest.
    """
    message = " ".join(message.split())
    text = hide_paths(message)

    def order(one: Subject) -> tuple[Level, bool, bool]:
        reason = one.end - one.start >= _LONG and bool(_CLOSING.fullmatch(text, one.end))
        return one.level, not reason, one.row.rank != "cause"

    about = min((*_find_words(text), *_find_codes(message)), key=order, default=None)
    return about and _placed(about, message)


def hide_paths(message: str) -> str:
    """Return ``message`` in lower case, with paths and commands blanked: their words are not its own."""
    return _PATH.sub(lambda path: "_" * len(path[0]), message).lower()


def _placed(about: Subject, message: str) -> Subject:
    """Return what a message is about, of the layer of the place that it names nearest to its words."""
    paths = reversed([*_PATH.finditer(message)])
    near = min(paths, key=lambda one: max(about.start - one.end(), one.start() - about.end), default=None)
    named = message[max(0, near.start() - _LONG) : near.end()] if near else message
    for layer, place in about.row.places.items():
        if re.search(place, named):
            return about._replace(row=replace(about.row, layer=layer))
    return about


def find_layer(message: str) -> Layer:
    """Return the layer of a failure that somebody states: by a cause's words in it, else the job's."""
    about = find_subject(message)
    return about.row.layer if about and about.is_certain else "job"


def find_fix(message: str) -> str:
    """Return the fix of what a host says that it could not do, for a play that is then run again."""
    about = find_subject(message)
    if about is None or not about.is_certain:
        return "correct what it names, and run the play again."
    remedy = about.row.remedy
    return f"{remedy[:1].lower()}{remedy[1:]} Then run the play again."


def _find_codes(message: str) -> Iterator[Subject]:
    for table in load_tables():
        for match in table.expression.finditer(message):
            if row := table.meanings.get(next(filter(None, match.groups()), "")):
                code = Level.GENERAL if table.tells else Level.CODE
                yield Subject(row, *match.span(), Level.POLICY if row.tells == "all" else code)


def _find_words(text: str) -> Iterator[Subject]:
    """Yield the known words in ``text``, the longest first, but none within longer ones."""
    covered: list[Subject] = []
    by_beginning = _words()
    begun = by_beginning.keys() & {text[at : at + _BEGIN] for at in range(len(text))}
    begins = [one for letters in begun for one in by_beginning[letters] if one[1] in text]
    for _, _, words, row in sorted(begins, key=_PLACE):
        if match := make_expression(words).search(text):
            one = Subject(row, *match.span(), _weigh(row, *match.span()))
            if not any(other.start <= one.start and one.end <= other.end for other in covered):
                covered.append(one)
                yield one


def _weigh(row: Meaning, start: int, end: int) -> Level:
    """Return how much words of a row tell; short ones tell little."""
    if row.tells == "all":
        return Level.POLICY
    if row.rank == "echo":
        return Level.ECHO
    if row.tells or end - start <= _FEW:
        return Level.WEAK if start else Level.NAME
    return Level.WORDS if row.rank == "cause" else Level.SYMPTOM


@cache
def make_expression(words: str) -> re.Pattern[str]:
    """Return the expression of words; they begin where a word does, and short ones end where one does."""
    begins = r"(?<![^\W_])" if words[0].isalnum() else ""
    ends = r"(?![^\W_])" if len(words) <= _SHORT and words[-1].isalnum() else ""
    return re.compile(begins + ".{0,400}?".join(map(re.escape, words.split("*"))) + ends)
