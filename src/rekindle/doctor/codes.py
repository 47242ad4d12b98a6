# SPDX-License-Identifier: Apache-2.0
"""Codes by which a driver, a library or a scheduler reports an error: tables, each with its source."""

import re
from functools import cache
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from rekindle.records import Layer, decodable, decode

from .catalogue import Rank


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one code means."""

    layer: Layer
    rank: Rank
    meaning: str
    remedy: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The codes of one origin, as ``codes.json`` has them."""

    table: str
    source: str
    pattern: str
    """Regular expression over a message; the first of its groups that is not empty is the code."""
    rows: dict[str, Code]
    """By code; the file has codes that mean the same in one row, with spaces between them."""


_ALL = decodable(tuple[Table, ...])


@cache
def tables() -> tuple[Table, ...]:
    """Return all tables."""
    found = decode(files(__package__).joinpath("codes.json").read_bytes(), _ALL)
    return tuple(replace(table, rows=_each(table.rows)) for table in found)


def _each(rows: dict[str, Code]) -> dict[str, Code]:
    return {number: row for numbers, row in rows.items() for number in numbers.split()}


@cache
def _expressions() -> tuple[tuple[re.Pattern[str], Table], ...]:
    return tuple((re.compile(table.pattern), table) for table in tables())


def code(message: str) -> tuple[Code, int] | None:
    """Return the first code in ``message`` that a table knows, and where it stands."""
    for expression, table in _expressions():
        for match in expression.finditer(message):
            number = next(filter(None, match.groups()), "")
            if number in table.rows:
                return table.rows[number], match.start()
    return None
