# SPDX-License-Identifier: Apache-2.0
"""The figures of one host, compared with norms and with each other."""

from collections.abc import Iterator

from msgspec.structs import replace

from rekindle.gpus import xids
from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.complaint import quote_host
from rekindle.records.text import shorten_text

from .catalogue import Measure, find_comparable, find_norm, is_possible, load_measures
from .comparison import Outliers, cover_pairs, find_outliers

NOTE = " | As measured: "
"""Separates our sentence from the host's on the same figure."""


def evaluate_figures(record: AcceptanceRecord) -> AcceptanceRecord:
    """Return the record with each known figure's ``norm``, ``source``, ``holds`` and ``message``.

    Each look is compared with the same look at the host's other GPUs. The host's own sentence stays at the
    end of ``message``; an evaluated record does not change.
    """
    first, *later = (_evaluated(look) for look in split_looks(record))
    measurements = []
    for place, figure in enumerate(first):
        again = (replace(each, holds=later[n][place].holds) for n, each in enumerate(figure.again))
        measurements.append(replace(figure, again=tuple(again)))
    return replace(record, measurements=tuple(measurements))


def split_looks(record: AcceptanceRecord) -> Iterator[AcceptanceRecord]:
    """Yield the record with the values of each look; a figure that a later one lacks keeps its first."""
    yield record
    for number in range(max((len(figure.again) for figure in record.measurements), default=0)):
        measurements = (
            replace(figure, value=figure.again[number].value)
            if number < len(figure.again) and figure.value is not None
            else figure
            for figure in record.measurements
        )
        yield replace(record, measurements=tuple(measurements))


def _evaluated(record: AcceptanceRecord) -> list[Measurement]:
    near = compare_within_host(record)
    return [_compared(record, figure, near.get(place)) for place, figure in enumerate(record.measurements)]


def describe_place(record: AcceptanceRecord, measurement: Measurement) -> str:
    """Return a figure's GPUs or host: ``GPU 3 (GPU-…)``."""
    if measurement.gpu is None:
        many = measurement.name in load_measures() and load_measures()[measurement.name].of == "gpus"
        size = f" at {format_size(measurement.size)}" if measurement.size is not None else ""
        return ("All GPUs" if many else "The host") + size
    if load_measures()[measurement.name].of == "link":
        at = f"at {format_size(measurement.size or 0)}"
        if measurement.peer is None:
            return quote_host(f"{shorten_text(measurement.gpu, 100)} together {at}")
        return quote_host(f"{measurement.gpu} to {measurement.peer} {at}")
    peer = f" to {label_gpu(record, measurement.peer)}" if measurement.peer is not None else ""
    return label_gpu(record, measurement.gpu) + peer


def label_gpu(record: AcceptanceRecord, uuid: str) -> str:
    """Return a GPU's index and UUID."""
    index = next((gpu.index for gpu in record.gpus if gpu.uuid == uuid), "?")
    return f"GPU {index} ({shorten_text(uuid, 100)})"


def format_size(size: int) -> str:
    """Return ``4 GiB``."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size} B"


def format_figure(value: float) -> str:
    """Return ``790.1`` or ``41,490``."""
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"


def describe_reading(record: AcceptanceRecord, measurement: Measurement) -> str:
    """Return ``GPU 3 (GPU-…): bf16_matmul is 790 TFLOP/s``; of several looks, ``…, then 791, 789, 790``."""
    unit = load_measures()[measurement.name].unit
    figure = f"{format_figure(measurement.value or 0)}{' ' if unit else ''}{unit}"
    message = f"{describe_place(record, measurement)}: {measurement.name} is {figure}"
    values = [format_figure(again.value) for again in measurement.again]
    return message + (f", then {', '.join(values)}" if values else "")


def _compared(
    record: AcceptanceRecord, measurement: Measurement, near: tuple[float, bool] | None
) -> Measurement:
    measure, value = load_measures().get(measurement.name), measurement.value
    if measure is None or value is None or not is_possible(measurement):
        return replace(measurement, holds=None)
    norm, source = _norm(record, measurement, measure)
    holds = None if norm is None else value >= norm if measure.better == "higher" else value <= norm
    message = describe_reading(record, measurement)
    if measurement.name == "xids" and value:
        codes, holds = _codes(measurement)
        message += f", {codes}"
    if norm is not None:
        most = "at least " if measure.better == "higher" else "at most " if norm else ""
        message += f", and the norm is {most}{format_figure(norm)} ({source})"
    elif measure.distance is not None:
        message += ", and no norm is known for such a host"
    if near:
        distance, outlier = near
        worse = f"{abs(distance):.1%} {'worse' if distance > 0 else 'better'} than"
        message += f"; it is {worse if round(distance, 3) else 'at'} the host's median"
        holds = False if outlier else holds
    known = measurement.message.startswith(f"{describe_place(record, measurement)}: {measurement.name} is ")
    note = measurement.message.partition(NOTE)[2] if known else measurement.message
    return replace(
        measurement,
        norm=norm,
        source=source,
        holds=holds,
        message=shorten_text(f"{message}." + (f"{NOTE}{note}" if note else "")),
    )


def _norm(
    record: AcceptanceRecord, measurement: Measurement, measure: Measure
) -> tuple[float | None, str | None]:
    """Return the norm and its source; a link's norm is the host's own, from both ends."""
    norm = find_norm(measurement, record.kind, record.norms)
    if norm is None:
        own = measurement.norm if measure.fault == "link" else None
        return own, None if own is None else measurement.source or "what both ends can"
    share = 1 - norm.margin if measure.better == "higher" else 1 + norm.margin
    less = f", {norm.value:.6g} less {norm.margin:.0%}" if norm.margin else ""
    return round(norm.value * share, 6), norm.source + less


def _codes(measurement: Measurement) -> tuple[str, bool]:
    codes = sorted({int(code) for code in measurement.series})
    named = "; ".join(xids.name_xid(code) for code in codes) or "without their codes"
    return named, bool(codes) and all(xids.find_xid_action(code) == "NONE" for code in codes)


def compare_within_host(record: AcceptanceRecord) -> dict[int, tuple[float, bool]]:
    """Return by place how much worse a figure is than the median of its host, and whether it is an outlier.

    If more than a quarter are, the host is built so (two sockets, two kinds of links) and none is.
    """
    models = {gpu.uuid: gpu.name for gpu in record.gpus}
    groups: dict[tuple[str, int | None, object], list[int]] = {}
    for place, measurement in enumerate(record.measurements):
        measure = find_comparable(measurement)
        if measure and measure.of in {"gpu", "pair"}:
            of = models.get(measurement.gpu or ""), models.get(measurement.peer or "")
            groups.setdefault((measurement.name, measurement.size, of), []).append(place)
    distances = {}
    few = max(1, len(record.gpus) // 4)
    for (name, _, _), places in groups.items():
        if len(places) < 2:
            continue
        figures = [record.measurements[place].value or 0.0 for place in places]
        outliers: Outliers = find_outliers(figures, load_measures()[name])
        slow = [record.measurements[places[number]] for number in outliers.worse]
        blamed = cover_pairs((figure.gpu or "", figure.peer or figure.gpu or "") for figure in slow)
        for number, place in enumerate(places):
            distance = load_measures()[name].worse(figures[number], outliers.middle)
            distances[place] = (distance, number in outliers.worse and len(blamed) <= few)
    return distances
