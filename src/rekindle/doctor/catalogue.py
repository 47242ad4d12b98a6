# SPDX-License-Identifier: Apache-2.0
"""The catalogue of known failures: ``catalogue/``, one file a layer, and rooms' own ``catalogue.json``."""

import re
import shlex
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal

import msgspec

from rekindle.host.rooms import read_rooms
from rekindle.records import Confidence, Layer, allow_decoding, decode_json

Rank = Literal["cause", "warning", "symptom", "guess", "echo"]
"""A symptom is an echo if a cause is found, or a warning that names one, and otherwise the root; a guess
counts only if none of these is found; an echo is never the root."""


class Entry(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, dict=True):
    """One known failure."""

    name: str
    pattern: str
    """Regular expression over a complete text, ``^`` at any line; bounded repetitions keep it linear."""
    cause: str
    """A sentence; ``{what}`` is the pattern's group of that name."""
    layer: Layer
    remedy: str
    confirm: str = ""
    """A command that shows it; ``{node}`` … are the pattern's groups, quoted for a shell."""
    rank: Rank = "cause"
    unless: str = ""
    """Pattern of what, earlier in the text, shows that it is something else."""
    versions: dict[str, str] = {}
    confidence: Confidence
    seen: str

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern, re.MULTILINE)

    def is_refuted(self, before: str) -> bool:
        """Return whether the part of a text before a match shows that it is something else."""
        return bool(self.unless and re.search(self.unless, before))

    def command(self, match: re.Match[str]) -> str | None:
        """Return the command that confirms it, with the match's groups in it; None if there is none."""
        groups = {name: shlex.quote(text or "") for name, text in match.groupdict().items()}
        return self.confirm.format(**groups) or None

    def message(self, match: re.Match[str]) -> str:
        """Return the cause with the match's groups in it; ``other`` replaces an empty ``what``."""
        groups = {name: " ".join((text or "").split()) for name, text in match.groupdict().items()}
        groups["what"] = groups.get("what") or groups.get("other") or ""
        return self.cause.format(**groups).replace(" ()", "")


def match_releases(wanted: Mapping[str, str], installed: Mapping[str, str]) -> bool | None:
    """Return whether the ``installed`` releases fit the ``wanted`` ones; None if a package's is unknown."""
    known = [_fits(installed[name], releases) for name, releases in wanted.items() if name in installed]
    if not all(known):
        return False
    return True if len(known) == len(wanted) else None


def _fits(version: str, releases: str) -> bool:
    """Return whether a version is of these releases, as a candidate or another build of one is, too."""
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - a log alone is answered sooner without it
    from packaging.version import Version  # noqa: PLC0415

    return SpecifierSet(releases).contains(Version(version).base_version)


_ALL = allow_decoding(tuple[Entry, ...])


@cache
def load_catalogue() -> tuple[Entry, ...]:
    """Return all entries; of two that match in one place the first counts."""
    folder = files(__package__).joinpath("catalogue")
    layers = sorted(folder.iterdir(), key=lambda file: file.name)
    texts = [*(layer.read_bytes() for layer in layers), *read_rooms("catalogue.json")]
    return tuple(entry for text in texts for entry in decode_json(text, _ALL))
