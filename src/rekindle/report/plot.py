# SPDX-License-Identifier: Apache-2.0
"""A line plot in SVG coordinates: one line a series, axes with round ticks."""

import math
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 220
LEFT, TOP, RIGHT, BOTTOM = 58, 10, 350, 176
"""The axes' box, in pixels."""


@dataclass(frozen=True)
class Series:
    """One line: its name and its points ``(x, y)`` in pixels."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """A plot; ticks are ``(pixel, label)``."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def make_plot(
    title: str, x_label: str, y_label: str, series: dict[str, list[tuple[int, float]]]
) -> Plot | None:
    """Lay out ``{name: [(x, y), …]}``; None if no point can be drawn."""
    series = {name: _thinned(sorted(points)) for name, points in series.items() if points}
    numbers = sorted({x for points in series.values() for x, _ in points})
    values = [y for points in series.values() for _, y in points]
    if not values or max(map(abs, values)) > 1e100:
        return None
    levels = _levels(min(0.0, *values), max(0.0, *values))

    def across(x: int) -> float:
        return round(LEFT + (x - numbers[0]) / max(numbers[-1] - numbers[0], 1) * (RIGHT - LEFT), 1)

    def up(y: float) -> float:
        return round(BOTTOM - (y - levels[0]) / (levels[-1] - levels[0]) * (BOTTOM - TOP), 1)

    return Plot(
        title,
        x_label,
        y_label,
        tuple(Series(name, tuple((across(x), up(y)) for x, y in points)) for name, points in series.items()),
        tuple((across(x), str(x)) for x in numbers[:: math.ceil(len(numbers) / 8)]),
        tuple((up(level), f"{level:.4g}") for level in levels),
    )


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return at most one point a pixel, with the last."""
    step = math.ceil(len(points) / (RIGHT - LEFT))
    return points[(len(points) - 1) % step :: step]


def _levels(low: float, high: float) -> list[float]:
    """Return three to eight round levels from ``low`` ≤ 0 to ``high`` ≥ 0."""
    span = high - low
    if span < 1e-100:
        span = high = 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / 5 * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]
