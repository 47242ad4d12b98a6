"""What lines look like that report an error, that report none, and that show that the work went on: data."""

import re
from functools import cache
from importlib.resources import files

import msgspec

from rekindle.records import decodable, decode


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of line, as ``shapes.json`` has it."""

    ignores_case: bool
    any: tuple[str, ...]
    """Regular expressions, of which one is found in such a line."""


_ALL = decodable(dict[str, Shape])


@cache
def _shapes() -> dict[str, Shape]:
    return decode(files(__package__).joinpath("shapes.json").read_bytes(), _ALL)


def shape(name: str) -> re.Pattern[str]:
    """Return the expression of a kind of line."""
    wanted = _shapes()[name]
    return re.compile("|".join(wanted.any), re.IGNORECASE if wanted.ignores_case else 0)
