# SPDX-License-Identifier: Apache-2.0
"""The figures of a fleet as they are drawn: each measurement with every GPU as a point, and the worst."""

from collections.abc import Iterable
from typing import NamedTuple

from rekindle.records import AcceptanceRecord, Kind, Measurement

from .catalogue import Measure, find_comparable, load_measures, pick_best
from .comparison import find_middle
from .evaluation import describe_reading
from .flaw import Flaw

_PRECISE = 0.1
"""Figures with larger distances vary too much to name a GPU by them."""


class Point(NamedTuple):
    """One GPU, or a host's GPUs together."""

    host: str
    message: str
    """``GPU 3 (GPU-…): bf16_matmul is 790 TFLOP/s``; of its worst pair."""
    value: float
    worse: float
    """Relative to the strip's median."""
    bad: bool
    gpu: str | None
    """Its UUID; None for all GPUs of a host."""


class Strip(NamedTuple):
    """One measurement of all hosts of a kind."""

    name: str
    of: str
    """The kind of host: ``8 × NVIDIA H200 by NV18``."""
    measure: Measure
    size: int | None
    middle: float
    norm: float | None
    points: tuple[Point, ...]
    varies: bool
    """Whether points have different values."""

    @property
    def unit(self) -> str:
        """The unit as it stands after a figure; empty if there is none."""
        return f" {self.measure.unit}" if self.measure.unit else ""


def make_strips(records: Iterable[AcceptanceRecord], flaws: Iterable[Flaw]) -> list[Strip]:
    """Return a strip for each measurement by which fleets are compared, in the catalogue's order.

    Args:
        records: as `evaluated` returns them, one a host.
        flaws: theirs.
    """
    bad = {(flaw.host, flaw.uuid, flaw.measurement) for flaw in flaws if flaw.verdict and flaw.worse}
    groups: dict[tuple[str, Kind, str], list[tuple[AcceptanceRecord, Measurement, float]]] = {}
    for record in records:
        models = {gpu.uuid: gpu.name for gpu in record.gpus}
        for (name, uuid), (measurement, value) in pick_figures(record).items():
            model = models.get(uuid or "", record.kind.model)
            groups.setdefault((name, record.kind, model), []).append((record, measurement, value))
    order = list(load_measures())
    drawn = []
    for (name, kind, model), figures in sorted(groups.items(), key=lambda group: order.index(group[0][0])):
        measure = load_measures()[name]
        centre = find_middle([value for _, _, value in figures], measure)
        points = tuple(
            Point(
                record.host,
                describe_reading(record, measurement),
                value,
                measure.worse(value, centre),
                not bad.isdisjoint({(record.host, measurement.gpu, name), (record.host, None, name)}),
                measurement.gpu,
            )
            for record, measurement, value in figures
        )
        nvls = " with NVLS" if kind.nvls else ""
        its = "" if model == kind.model else f", of these {model}"
        of = f"{kind.count} × {kind.model}{its} by {kind.topology}{nvls}, driver {kind.driver}"
        varies = len({value for _, _, value in figures}) > 1
        drawn.append(Strip(name, of, measure, figures[0][1].size, centre, figures[0][1].norm, points, varies))
    return drawn


def find_worst(drawn: Iterable[Strip]) -> list[Point]:
    """Return the three GPUs that are furthest below a median, each once, those with flaws first."""
    points = [
        point
        for strip in drawn
        if strip.measure.of == "gpu" and (strip.measure.distance or 0) < _PRECISE
        for point in strip.points
        if point.worse > 0
    ]
    points.sort(key=lambda point: (not point.bad, -point.worse))
    by_gpu: dict[tuple[str, str], Point] = {}
    for point in points:
        by_gpu.setdefault((point.host, point.message.partition(":")[0]), point)
    return list(by_gpu.values())[:3]


def pick_figures(record: AcceptanceRecord) -> dict[tuple[str, str | None], tuple[Measurement, float]]:
    """Return one figure for each GPU and name: its worst pair, or the largest size."""
    shown: dict[tuple[str, str | None], tuple[Measurement, float]] = {}
    for measurement in record.measurements:
        measure = find_comparable(measurement)
        value = pick_best(measurement) if measure else None
        if measure is None or measure.of == "host" or value is None:
            continue
        known = shown.get((measurement.name, measurement.gpu))
        if measure.of == "gpus":
            first = known is None or (measurement.size or 0) > (known[0].size or 0)
        else:
            first = known is None or measure.worse(value, known[1]) > 0
        if first:
            shown[measurement.name, measurement.gpu] = measurement, value
    return shown
