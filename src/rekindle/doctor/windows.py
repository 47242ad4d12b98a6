# SPDX-License-Identifier: Apache-2.0
"""The parts of a large text in which anything that the catalogue knows can stand."""

from .shapes import finder, needles
from .texts import SMALL, Text, ends

_NEAR, _FAR = 16, 170
"""Lines around one that may matter, which an entry over several lines may need; those of stacks need more."""
_STACKS = ("traceback", "mainthread", "rmtree", "root cause", "_python_exit")
NEEDLES = needles("catalogue")
"""Of every failure that the catalogue knows, a line has one of these, in lower case."""
_MATTERS = finder(NEEDLES)


def windows(text: Text) -> tuple[tuple[int, int], ...]:
    """Return the beginnings and ends of the parts of the body, in order; of a small text the whole."""
    if len(text.body) <= SMALL:
        return ((0, len(text.body)),)
    found: list[tuple[int, int]] = []
    for number in ends(text.looked_at, lambda number: bool(_MATTERS.search(text.content(number).lower()))):
        line = text.content(number).lower()
        last = number + (_FAR if any(word in line for word in _STACKS) else _NEAR)
        first = max(1, number - _NEAR)
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple((text.start(first), text.start(last)) for first, last in found)
