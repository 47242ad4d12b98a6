"""A line plot as SVG coordinates: one line a series, axes with round ticks."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH, HEIGHT = 360, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 12, 34


@dataclass(frozen=True)
class Series:
    """One line: its name and its points ``(x, y)`` in pixels."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """A plot in pixels; ticks are ``(pixel, label)``."""

    title: str
    series: tuple[Series, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    box: tuple[int, int, int, int] = (_LEFT, _TOP, WIDTH - _RIGHT, HEIGHT - _BOTTOM)


def plot(title: str, series: dict[str, list[tuple[int, float]]]) -> Plot | None:
    """Lay out ``{name: [(round, value), …]}``; None if there is nothing to draw."""
    values = [value for points in series.values() for _, value in points]
    if not values:
        return None
    rounds = sorted({number for points in series.values() for number, _ in points})
    low, high = min(0.0, *values), max(values)
    span = (high - low) or 1.0
    left, top, right, bottom = Plot(title, (), (), ()).box

    def x(number: int) -> float:
        return round(left + (number - rounds[0]) / max(rounds[-1] - rounds[0], 1) * (right - left), 1)

    def y(value: float) -> float:
        return round(bottom - (value - low) / span * (bottom - top), 1)

    lines = tuple(
        Series(name, tuple((x(number), y(value)) for number, value in sorted(points)))
        for name, points in series.items()
    )
    step = max(1, len(rounds) // 8)
    x_ticks = tuple((x(number), str(number + 1)) for number in rounds[::step])
    y_ticks = tuple((y(low + span * part / 4), f"{low + span * part / 4:.3g}") for part in range(5))
    return Plot(title, lines, x_ticks, y_ticks)
