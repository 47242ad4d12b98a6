"""The catalogue of known failures: data, in ``catalogue/``, one file a layer."""

import re
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal

import msgspec

from rekindle.records import Confidence, Layer, decodable, decode

Rank = Literal["cause", "symptom", "guess", "echo"]
"""A symptom is an echo wherever a cause is found, and the best answer where none is; a guess is made
only where neither is found; an echo never answers."""
_NOT_SAID = "no detail"


class Entry(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, dict=True):
    """One known failure."""

    name: str
    pattern: str
    """Regular expression over a whole text, ``^`` at any line; repetitions are bounded, for linear time."""
    cause: str
    """A sentence; ``{what}`` is the pattern's group of that name."""
    layer: Layer
    remedy: str
    """A sentence."""
    rank: Rank = "cause"
    versions: dict[str, str] = {}
    """PEP 440 specifiers of the packages that it happens with; empty: with any."""
    confidence: Confidence
    excerpt: str
    """What it really looked like; its test."""
    seen: str
    """Where the excerpt comes from."""

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """``pattern``, compiled."""
        return re.compile(self.pattern, re.MULTILINE)

    def says(self, match: re.Match[str]) -> str:
        """Return the cause with the match's groups in it; ``other`` stands in for a ``what`` without text."""
        groups = {name: " ".join((text or "").split()) for name, text in match.groupdict().items()}
        groups["what"] = groups.get("what") or groups.get("other") or ""
        optional = "(?P<what>: " in self.pattern
        return self.cause.format(
            **{name: text or ("" if optional else _NOT_SAID) for name, text in groups.items()}
        )


_ALL = decodable(tuple[Entry, ...])


@cache
def catalogue() -> tuple[Entry, ...]:
    """Return all entries; of two that match in one place the first is the closer one."""
    folder = files(__package__).joinpath("catalogue")
    layers = sorted(folder.iterdir(), key=lambda file: file.name)
    return tuple(entry for layer in layers for entry in decode(layer.read_bytes(), _ALL))
