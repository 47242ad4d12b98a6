# SPDX-License-Identifier: Apache-2.0
"""A large text, cut to the lines that may matter and those around them, so that all else reads it whole."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from .shapes import load_shape
from .texts import Text

MATTERS = load_shape("matters")
"""Finds one of the words, in lower case, that each line which may matter has."""
_SMALL = 1 << 18
"""Characters of a text that is read whole."""
_ALIKE, _MOST, _ENDS = 20, 400, 16
"""Lines, at each end, that are kept: of those that differ in numbers alone, of those that matter, of all."""
_BEFORE, _AFTER = 16, 40
_NUMBERS = b"0123456789abcdefABCDEF"


def take_excerpt(text: Text) -> Text:
    """Return a text; of a large one the lines that may matter, those around them, and both ends."""
    if len(text.raw) <= _SMALL:
        return text
    lines = text.raw.split("\n")
    kept = {*range(_ENDS), *range(len(lines) - _ENDS, len(lines))}
    for at in _find_mattering(lines, text.raw):
        kept.update(range(at - _BEFORE, at + _AFTER + 1))
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


def _find_mattering(lines: list[str], raw: str) -> set[int]:
    """Return which lines matter; of very many, and of many alike (hexadecimal too), those of both ends."""
    alike = raw.encode("utf-8", "replace").translate(None, _NUMBERS).split(b"\n")
    looked_at: list[int] = []
    many: dict[bytes, list[int]] = {kind: [] for kind, of in Counter(alike).items() if of > 2 * _ALIKE}
    for at, kind in enumerate(alike):
        many.get(kind, looked_at).append(at)
    looked_at = sorted([*looked_at, *(at for of in many.values() for at in of[:_ALIKE] + of[-_ALIKE:])])

    def first(order: Iterable[int]) -> list[int]:
        return [*islice((at for at in order if MATTERS.search(lines[at].lower())), _MOST)]

    found = first(looked_at)
    return {*found, *(first(reversed(looked_at)) if len(found) == _MOST else ())}
