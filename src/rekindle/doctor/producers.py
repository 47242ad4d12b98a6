"""Who printed a line of a log, and the layer that it reports on."""

import re
from functools import cache
from importlib.resources import files

from rekindle.records import Layer, decodable, decode

_ALL = decodable(dict[Layer, tuple[str, ...]])
_NAMES = re.compile(r"[\w./+!-]{1,60}")
_FIRST = 160


@cache
def _layers() -> dict[str, Layer]:
    by_layer = decode(files(__package__).joinpath("producers.json").read_bytes(), _ALL)
    return {name: layer for layer, names in by_layer.items() for name in names}


def producer(line: str) -> Layer | None:
    """Return the layer of the first program or logger that a line names before its message, if one is known."""
    known = _layers()
    return next((known[name] for name in _NAMES.findall(line[:_FIRST]) if name in known), None)
