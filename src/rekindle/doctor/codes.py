# SPDX-License-Identifier: Apache-2.0
"""Codes by which a driver, a library or a scheduler reports an error: tables, each with its source."""

import re
from functools import cache
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from rekindle.records import Layer, allow_decoding, decode_json

from .catalogue import Rank


class Meaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a code means, or messages of one subject, as ``subjects.json`` has them."""

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


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The codes of one origin, as ``codes.json`` has them."""

    table: str
    source: str
    pattern: str
    """Regular expression over a message; the first of its groups that is not empty is the code."""
    rows: dict[str, Meaning]
    """By code; the file has codes that mean the same in one row, with spaces between them."""


_ALL = allow_decoding(tuple[Table, ...])


@cache
def load_tables() -> tuple[Table, ...]:
    """Return all tables, with a row for each code."""
    found = decode_json(files(__package__).joinpath("codes.json").read_bytes(), _ALL)
    return tuple(
        replace(table, rows={code: row for codes, row in table.rows.items() for code in codes.split()})
        for table in found
    )


def find_code(message: str) -> tuple[Meaning, int] | None:
    """Return the first code in ``message`` that a table knows, and where it stands."""
    for table in load_tables():
        for match in re.finditer(table.pattern, message):
            number = next(filter(None, match.groups()), "")
            if number in table.rows:
                return table.rows[number], match.start()
    return None
