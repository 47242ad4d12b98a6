# SPDX-License-Identifier: Apache-2.0
"""Who reports an error: a program, a logger, a package; and its layer."""

import re
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from rekindle.records import Layer, decodable, decode

_NAMES = re.compile(r"[\w./+!-]{1,60}")
_CHAIN = re.compile(r"(?:\W{0,3}[\w./+-]{1,60}(?:\[\d{1,10}\])?: ?){2,6}")
"""Who printed a line that others pass on: the last."""
_FIRST = 160
_Names = dict[Layer, tuple[str, ...]]


class _Producers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lines: _Names
    packages: _Names


_ALL = decodable(_Producers)


@cache
def _layers() -> tuple[dict[str, Layer], dict[str, Layer]]:
    known = decode(files(__package__).joinpath("producers.json").read_bytes(), _ALL)
    lines, packages = (
        {name: layer for layer, names in by_layer.items() for name in names}
        for by_layer in (known.lines, known.packages)
    )
    return lines, packages


@lru_cache(1 << 10)
def producer(line: str) -> Layer | None:
    """Return the layer of the first program or logger that a line names before its message, if known."""
    known = _layers()[0]
    chain = _CHAIN.match(line)
    through = reversed(_NAMES.findall(chain[0])) if chain else ()
    names = (*through, *_NAMES.findall(line[:_FIRST]))
    parts = (part for name in names for part in (name, name.rpartition("/")[2]))
    return next((known[part] for part in parts if part in known), None)


def package(names: tuple[str, ...]) -> Layer | None:
    """Return the layer of the first of these Python packages that is known."""
    known = _layers()[1]
    return next((known[name] for name in names if name in known), None)
