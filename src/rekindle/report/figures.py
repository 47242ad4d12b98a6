# SPDX-License-Identifier: Apache-2.0
"""The figures of a host's GPUs beside what other GPUs of its kind reach: a row a GPU, a column a figure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rekindle.acceptance.strips import Point, Strip
from rekindle.host.instances import name_place
from rekindle.records import AcceptanceRecord

_USUAL = 0.07
"""The distance that makes an outlier of most measurements."""
_LEVELS = 4


class GpuFigure(NamedTuple):
    """One figure; its level is 0 within a quarter of the distance of an outlier, and 4 from there on."""

    text: str
    level: int
    message: str


class GpuFigures(NamedTuple):
    """Those of a host."""

    names: list[tuple[str, str]]
    """Of each figure, and its unit."""
    rows: list[tuple[str, list[GpuFigure | None]]]
    same: list[str]
    """What all GPUs of its kind have alike."""


def group_points(strips: Iterable[Strip]) -> dict[str, list[tuple[Strip, Point]]]:
    """Return the points of each host with their strips."""
    found: dict[str, list[tuple[Strip, Point]]] = {}
    for strip in strips:
        for point in strip.points:
            found.setdefault(point.host, []).append((strip, point))
    return found


def describe_same(strip: Strip) -> str:
    """Return a figure that all GPUs of its kind have alike."""
    return f"{strip.name} {strip.middle:.4g}{strip.unit}"


def make_figures(record: AcceptanceRecord, points: Sequence[tuple[Strip, Point]]) -> GpuFigures | None:
    """Return the figures of one host, of which there are these points; None without any."""
    places: dict[str | None, str] = {gpu.uuid: name_place(gpu.index, gpu.uuid) for gpu in record.gpus}
    places[None] = "together"
    names: list[tuple[str, str]] = []
    cells: dict[str, dict[tuple[str, str], GpuFigure]] = {}
    same: dict[str, None] = {}
    for strip, point in points:
        if not strip.varies:
            same[describe_same(strip)] = None
            continue
        name = (strip.name, strip.measure.unit)
        if name not in names:
            names.append(name)
        share = point.worse / (strip.measure.distance or _USUAL)
        level = _LEVELS if point.bad else min(_LEVELS - 1, max(0, int(share * _LEVELS)))
        message = f"{point.message}; the median of its kind is {strip.middle:.4g}{strip.unit}"
        figure = GpuFigure(f"{point.value:.4g}", level, message)
        cells.setdefault(places.get(point.gpu, "together"), {})[name] = figure
    rows = [
        (place, [cells[place].get(name) for name in names]) for place in places.values() if place in cells
    ]
    return GpuFigures(names, rows, list(same)) if rows or same else None
