# SPDX-License-Identifier: Apache-2.0
"""A large text, cut to the lines that may matter and those around them, so that all else reads it whole."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice

import msgspec

from rekindle.records import allow_decoding, decode_json

from .shapes import make_finder
from .texts import Text

_SMALL = 1 << 18
"""Characters of a text that is read whole."""
_ALIKE = 20
"""Lines of a kind, at each end, that are looked at; they differ in numbers alone."""
_ENDS = 16
_NUMBERS = b"0123456789abcdefABCDEF"


class Needles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words in lower case, one of which is in every line of a kind, as ``needles.json`` has them."""

    most: int
    """Lines of the kind that are kept, of each end."""
    before: int
    """Lines before one that are kept with it."""
    after: int
    any: tuple[str, ...]


_ALL = allow_decoding(dict[str, Needles])


@cache
def load_needles() -> dict[str, Needles]:
    """Return the needles of each kind of line."""
    return decode_json(files(__package__).joinpath("needles.json").read_bytes(), _ALL)


def take_excerpt(text: Text) -> Text:
    """Return a text; of a large one the lines that may matter, those around them, and both ends."""
    if len(text.raw) <= _SMALL:
        return text
    lines = text.raw.split("\n")
    looked_at = _distinct(text.raw)
    kept = {*range(_ENDS), *range(len(lines) - _ENDS, len(lines))}
    for kind in load_needles().values():
        for at in _ends(looked_at, lines, kind):
            kept.update(range(at - kind.before, at + kind.after + 1))
    shown: list[str] = []
    rows: list[int] = []
    for at in sorted(one for one in kept if 0 <= one < len(lines)):
        if rows and at > rows[-1] + 1:
            shown.append("")
            rows.append(at - 1)
        shown.append(lines[at])
        rows.append(at)
    whole = text.rows or range(len(lines))
    return Text(text.file, "\n".join(shown), tuple(whole[at] for at in rows))


def _distinct(raw: str) -> list[int]:
    """Return which lines are looked at: of many that differ in numbers alone, hexadecimal too, both ends."""
    alike = raw.encode("utf-8", "replace").translate(None, _NUMBERS).split(b"\n")
    many = {kind for kind, count in Counter(alike).items() if count > 2 * _ALIKE}
    looked_at = {at for at, kind in enumerate(alike) if kind not in many}
    looked_at.update(_first(enumerate(alike), many))
    looked_at.update(_first(zip(range(len(alike) - 1, -1, -1), reversed(alike), strict=True), many))
    return sorted(looked_at)


def _first(lines: Iterable[tuple[int, bytes]], kinds: set[bytes]) -> Iterator[int]:
    """Yield where the first lines of each of the kinds are."""
    left = dict.fromkeys(kinds, _ALIKE)
    for at, kind in lines:
        if not left:
            break
        if kind in left:
            yield at
            left[kind] -= 1
            if not left[kind]:
                del left[kind]


def _ends(looked_at: list[int], lines: list[str], kind: Needles) -> set[int]:
    """Return which lines are of a kind; of very many those of both ends."""
    matters = make_finder(kind.any)

    def first(looked_at: Iterable[int]) -> list[int]:
        return [*islice((at for at in looked_at if matters.search(lines[at].lower())), kind.most)]

    found = first(looked_at)
    return {*found, *(first(reversed(looked_at)) if len(found) == kind.most else ())}
