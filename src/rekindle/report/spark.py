# SPDX-License-Identifier: Apache-2.0
"""A series of numbers in the space of a word: in a terminal by block characters, on a page as a line."""

from collections.abc import Sequence

WIDTH, HEIGHT = 120, 24
_BLOCKS = "▁▂▃▄▅▆▇█"
_LETTERS = 12


def draw_spark(values: Sequence[float]) -> str:
    """Return at most twelve characters, the last of them for the last value; nothing for fewer than two."""
    if len(values) < 2:
        return ""
    count = min(len(values), _LETTERS)
    picked = [values[round(n * (len(values) - 1) / (count - 1))] for n in range(count)]
    return "".join(_BLOCKS[round(share * (len(_BLOCKS) - 1))] for share in _shares(picked))


def make_spark(values: Sequence[float], least: float = 0.0) -> str:
    """Return the points of a polyline of `WIDTH` by `HEIGHT`; nothing for fewer than two values.

    Args:
        values: in their order.
        least: share of the largest that its height stands for at least, so that noise stays flat.
    """
    if len(values) < 2:
        return ""
    step = (WIDTH - 4) / (len(values) - 1)
    shares = enumerate(_shares(values, least))
    return " ".join(f"{2 + n * step:.1f},{HEIGHT - 2 - share * (HEIGHT - 4):.1f}" for n, share in shares)


def _shares(values: Sequence[float], least: float = 0.0) -> list[float]:
    low, high = min(values), max(values)
    span = max(high - low, least * max(abs(low), abs(high)))
    middle = (low + high) / 2
    return [0.5 + (value - middle) / span if span else 0.5 for value in values]
