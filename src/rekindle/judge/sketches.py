# SPDX-License-Identifier: Apache-2.0
"""Sketches of models: what they are of, and whether two are of one model."""

import math
from collections.abc import Sequence
from operator import mul

from rekindle.records.events import Sketch, TaskEvent

EXACT = 1e-6
"""Relative to the largest figure of a sketch: means of float32, off by 4e-8 at most in recorded runs."""
MEAN = 1e-5
"""The same for sums in any order."""
QUANTISED = 5e-3
"""The same for messages or models of 16 bits or fewer: off by 3e-4 at most in runs."""


def sketch_made(event: TaskEvent) -> Sketch:
    """Return the sketch of the model that a site made, also where it sent the difference."""
    if event.kind != "WEIGHT_DIFF" or not event.sent:
        return event.sketch
    return tuple(map(sum, zip(event.sent, event.sketch, strict=False)))


def share_left(event: TaskEvent) -> float:
    """Return which share of the model that a site was sent lies in its result, along it; 1 of differences."""
    if event.kind != "WEIGHTS" or event.kept is None or event.relative is None:
        return 1.0
    return event.kept * event.relative


def average_sketches(weights: Sequence[float], sketches: Sequence[Sketch]) -> Sketch | None:
    """Return the mean of sketches by their weights; None where the weights add up to nothing."""
    if not (total := sum(weights)):
        return None
    return tuple(sum(map(mul, weights, values)) / total for values in zip(*sketches, strict=False))


def reject_vector(vector: list[float], other: list[float]) -> list[float]:
    """Return the part of a vector that is at right angles to another."""
    share = sum(map(mul, vector, other)) / (sum(map(mul, other, other)) or math.inf)
    return [value - share * along for value, along in zip(vector, other, strict=False)]


def is_same(first: Sketch | None, second: Sketch | None, tolerance: float = EXACT) -> bool:
    """Whether two sketches are of one model, within ``tolerance`` of their largest figure."""
    if first is None or second is None or len(first) != len(second):
        return False
    scale = max((abs(value) for value in (*first, *second)), default=0.0)
    return math.isfinite(scale) and all(
        abs(a - b) <= tolerance * max(scale, 1e-12) for a, b in zip(first, second, strict=True)
    )
