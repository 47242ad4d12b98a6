# SPDX-License-Identifier: Apache-2.0
"""Figures of the same thing against each other: the outliers, and the GPUs that outlying pairs share."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median_high, median_low
from typing import NamedTuple

from .catalogue import Measure, load_limits

_SCALE = 1.4826
"""Standard deviation of a normal distribution over its MAD."""


class Outliers(NamedTuple):
    """The outliers among figures."""

    worse: dict[int, float]
    """How much worse each is, relative to ``middle``, by its place."""
    middle: float
    """Median of all, or of the better of two groups."""
    many: bool
    """Whether half or more are outliers, so that either half may be right."""


def find_middle(figures: Sequence[float], measure: Measure) -> float:
    """Return the median; of two in the middle the better, so that one of a pair can be the worse."""
    return median_high(figures) if measure.better == "higher" else median_low(figures)


def find_outliers(figures: Sequence[float], measure: Measure) -> Outliers:
    """Return the figures, one or more, that are far from the middle both in MADs and relative to it.

    Of two groups, which a median does not separate, the worse one are outliers.
    """
    order = sorted(range(len(figures)), key=lambda place: figures[place], reverse=measure.better != "higher")
    group = _worse_group([figures[place] for place in order], measure)
    centre = find_middle([figures[place] for place in order[group:]], measure)
    far = load_limits().robust_z * _spread([figures[place] for place in order[group:]], centre)
    worse = {}
    for number, place in enumerate(order):
        distance = measure.worse(figures[place], centre)
        if number < group or (distance > _limit(measure) and abs(figures[place] - centre) >= far):
            worse[place] = distance
    return Outliers(worse, centre, 2 * len(worse) >= len(figures))


def _worse_group(figures: Sequence[float], measure: Measure) -> int:
    """Return how many of the figures, the worst first, are a separate group; 0 without groups."""
    least = max(1, round(load_limits().mixed * len(figures)))
    places = range(least, len(figures) - least + 1)
    if not places:
        return 0
    split = max(places, key=lambda place: abs(figures[place] - figures[place - 1]))
    worse, better = figures[:split], figures[split:]
    low, high = find_middle(worse, measure), find_middle(better, measure)
    spread = max(_spread(worse, low), _spread(better, high))
    apart = abs(better[0] - worse[-1]) >= load_limits().robust_z * spread
    return split if apart and measure.worse(low, high) > _limit(measure) else 0


def _limit(measure: Measure) -> float:
    return float("inf") if measure.distance is None else measure.distance


def _spread(figures: Sequence[float], centre: float) -> float:
    return _SCALE * median_low([abs(figure - centre) for figure in figures])


def cover_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Return a few GPUs that cover all ``pairs``, each with its pairs, most first."""
    left, covered = list(pairs), {}
    while left:
        gpu = Counter(member for pair in left for member in set(pair)).most_common(1)[0][0]
        covered[gpu] = [pair for pair in left if gpu in pair]
        left = [pair for pair in left if gpu not in pair]
    return covered
