# SPDX-License-Identifier: Apache-2.0
"""How alike two models are, over the leaves that both have."""

import math
from collections.abc import Mapping
from typing import Any

from .arrays import BUFFER, convert_array, sum_products, walk_values

_ENOUGH = 150
"""Values for a correlation, at least: of fewer, chance makes a third or more."""
LEAST_LEAF = 8
"""Values of a leaf that takes part in it, at least."""


class Moments:
    """Of one leaf of two models, each less its first value, so that a constant leaf has none."""

    def __init__(self) -> None:
        """Begin before the first value."""
        self.count = 0
        self._first = 0.0, 0.0
        self._sums = [0.0] * 5

    def add(self, ours: Any, theirs: Any) -> None:
        """Take the next values of both."""
        if not self.count:
            self._first = ours[0], theirs[0]
        ours, theirs = ours - self._first[0], theirs - self._first[1]
        self.count += ours.size
        sums = (
            float(ours.sum()),
            float(theirs.sum()),
            sum_products(ours, theirs),
            sum_products(ours, ours),
            sum_products(theirs, theirs),
        )
        self._sums = [before + more for before, more in zip(self._sums, sums, strict=True)]

    def centre(self) -> tuple[float, float, float]:
        """Return the product of both, and the square of each, each less its mean."""
        ours, theirs, product, *squares = self._sums
        return (
            product - ours * theirs / self.count,
            max(squares[0] - ours * ours / self.count, 0.0),
            max(squares[1] - theirs * theirs / self.count, 0.0),
        )


class Correlation:
    """Of two models, over the leaves that both have, each less its mean."""

    def __init__(self) -> None:
        """Begin before the first leaf."""
        self._dot = self._ours = self._theirs = 0.0
        self._count = 0

    def add(self, leaf: Moments) -> None:
        """Take a leaf."""
        if leaf.count >= LEAST_LEAF:
            dot, ours, theirs = leaf.centre()
            self._dot, self._ours, self._theirs = self._dot + dot, self._ours + ours, self._theirs + theirs
            self._count += leaf.count

    @property
    def value(self) -> float | None:
        """From -1 to 1; None where it would prove nothing."""
        scale = math.sqrt(self._ours * self._theirs)
        return self._dot / scale if self._count >= _ENOUGH and scale > 0 else None


def correlate_models(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float | None:
    """Return that of two models, by the leaves that both have; None where it would prove nothing."""
    found = Correlation()
    for name in ours.keys() & theirs.keys():
        first, second = convert_array(ours[name]), convert_array(theirs[name])
        if first.shape == second.shape and not BUFFER.search(name):
            leaf = Moments()
            for pair in walk_values(first, second):
                leaf.add(*pair)
            found.add(leaf)
    return found.value
