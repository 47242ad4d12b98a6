# SPDX-License-Identifier: Apache-2.0
"""A strip in SVG coordinates: one measurement of a fleet, every GPU a point along one axis."""

from typing import NamedTuple

from rekindle.acceptance.strips import Strip

WIDTH, HEIGHT = 640, 64
LEFT, RIGHT = 10, 630
TOP, BOTTOM = 8, 40
_ROWS = 8
_MOST = 100
"""Points that each have their own message."""


class Dot(NamedTuple):
    """One point, in pixels."""

    x: float
    y: float
    bad: bool
    message: str


class Drawing(NamedTuple):
    """A strip; marks are ``(pixel, label, anchor)``."""

    title: str
    of: str
    dots: tuple[Dot, ...]
    crowd: str
    """A path of the points of a large fleet that are not bad, to the pixel."""
    middle: float
    norm: float | None
    marks: tuple[tuple[float, str, str], ...]


def draw_strip(strip: Strip) -> Drawing:
    """Lay it out, with the norm if it is near enough to keep the points apart."""
    values = [point.value for point in strip.points]
    low, high = min(values), max(values)
    near = strip.norm is not None and abs(strip.norm - strip.middle) < 0.5 * abs(strip.middle)
    if near and strip.norm is not None:
        low, high = min(low, strip.norm), max(high, strip.norm)

    def across(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(LEFT + share * (RIGHT - LEFT), 1)

    step = (BOTTOM - TOP) / (_ROWS - 1)
    dots = [
        Dot(
            across(point.value),
            round(TOP + number % _ROWS * step, 1),
            point.bad,
            f"{point.host}: {point.message}",
        )
        for number, point in enumerate(strip.points)
    ]
    dots.sort(key=lambda dot: dot.bad)
    crowd = [dot for dot in dots if not dot.bad] if len(dots) > _MOST else []
    pixels = sorted({(round(dot.x), round(dot.y)) for dot in crowd})
    size = f" at {strip.size} bytes" if strip.size is not None else ""
    ends = ((across(low), f"{low:.4g}", "start"), (across(high), f"{high:.4g}{strip.unit}", "end"))
    return Drawing(
        f"{strip.name}{size}",
        strip.of,
        tuple(dots[len(crowd) :]),
        "".join(f"M{x} {y}h0" for x, y in pixels),
        across(strip.middle),
        across(strip.norm) if near and strip.norm is not None else None,
        ends if high > low else ((across(low), f"{low:.4g}{strip.unit}", "middle"),),
    )
