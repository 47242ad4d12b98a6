# SPDX-License-Identifier: Apache-2.0
"""What lines look like that matter, that report an error or none, and that show that work went on: data."""

import re
from functools import cache
from importlib.resources import files

from rekindle.records import allow_decoding, decode_json

_ALL = allow_decoding(dict[str, tuple[str, ...]])


@cache
def load_shapes(name: str) -> tuple[str, ...]:
    """Return the expressions of a kind of line."""
    return decode_json(files(__package__).joinpath("shapes.json").read_bytes(), _ALL)[name]


def load_shape(name: str) -> re.Pattern[str]:
    """Return the expression of a kind of line."""
    return re.compile("|".join(load_shapes(name)))
