"""The figures of one host, held against norms and against each other."""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.gpus import xids
from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.base import shortened

from .catalogue import Measure, comparable, measures, norm_of, possible
from .compare import Stray, cover, stray

NOTE = " | As measured: "
"""Between our sentence and what the host said of the same figure."""


def held(record: AcceptanceRecord) -> AcceptanceRecord:
    """Return the record with ``norm``, ``source``, ``holds`` and ``says`` of each figure that is known here.

    What the host itself said stays at the end of ``says``; a record that is held already stays as it is.
    """
    near = beside(record)
    return replace(
        record,
        measurements=tuple(_held(record, one, near.get(n)) for n, one in enumerate(record.measurements)),
    )


def where(record: AcceptanceRecord, one: Measurement) -> str:
    """Return what a figure is of: ``GPU 3 (GPU-…)``."""
    if one.gpu is None:
        many = one.name in measures() and measures()[one.name].of == "gpus"
        size = f" at {told_bytes(one.size)}" if one.size is not None else ""
        return ("All GPUs" if many else "The host") + size
    peer = f" to {gpu(record, one.peer)}" if one.peer is not None else ""
    return gpu(record, one.gpu) + peer


def gpu(record: AcceptanceRecord, uuid: str) -> str:
    """Return a GPU's index and UUID."""
    index = next((one.index for one in record.gpus if one.uuid == uuid), "?")
    return f"GPU {index} ({shortened(uuid, 100)})"


def told_bytes(size: int) -> str:
    """Return ``4 GiB``."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size} B"


def figure(one: Measurement) -> str:
    """Return ``bf16_matmul is 790 TFLOP/s``."""
    unit = measures()[one.name].unit
    return f"{one.name} is {one.value:.4g}{' ' if unit else ''}{unit}"


def _held(record: AcceptanceRecord, one: Measurement, near: tuple[float, bool] | None) -> Measurement:
    measure = measures().get(one.name)
    if measure is None or one.value is None or not possible(one):
        return replace(one, holds=None)
    norm, source = _norm(record, one, measure)
    holds = None if norm is None else one.value >= norm if measure.better == "higher" else one.value <= norm
    says = f"{where(record, one)}: {figure(one)}"
    if one.name == "xids" and one.value:
        codes, holds = _codes(one)
        says += f", {codes}"
    if norm is not None:
        most = "at least " if measure.better == "higher" else "at most " if norm else ""
        says += f", and the norm is {most}{norm:.4g} ({source})"
    elif measure.distance is not None:
        says += ", and no norm is known for such a host"
    if near:
        distance, stands_out = near
        worse = f"{abs(distance):.1%} {'worse' if distance > 0 else 'better'} than"
        says += f"; it is {worse if round(distance, 3) else 'as'} the median of the host's own"
        holds = False if stands_out else holds
    known = one.says.startswith(f"{where(record, one)}: {one.name} is ")
    note = one.says.partition(NOTE)[2] if known else one.says
    return replace(
        one,
        norm=norm,
        source=source,
        holds=holds,
        says=shortened(f"{says}." + (f"{NOTE}{note}" if note else "")),
    )


def _norm(record: AcceptanceRecord, one: Measurement, measure: Measure) -> tuple[float | None, str | None]:
    """Return the norm and its source; what a link can be is what the host found of both its ends."""
    norm = norm_of(one, record.kind)
    if norm is None:
        own = one.norm if measure.fault == "link" else None
        return own, None if own is None else one.source or "what both ends can"
    share = 1 - norm.margin if measure.better == "higher" else 1 + norm.margin
    less = f", {norm.value:.6g} less {norm.margin:.0%}" if norm.margin else ""
    return round(norm.value * share, 6), norm.source + less


def _codes(one: Measurement) -> tuple[str, bool]:
    """Return the driver's error codes with what to do about each, and whether none of them matters."""
    codes = sorted({int(code) for code in one.series})
    told = "; ".join(xids.named(code) for code in codes) or "without their codes"
    return told, bool(codes) and not any(xids.fails(code) for code in codes)


def beside(record: AcceptanceRecord) -> dict[int, tuple[float, bool]]:
    """Return by place how much worse a figure is than the median of its host, and whether it stands out.

    Where more than a quarter would, the host is built so: GPUs on two sockets, links of two kinds.
    """
    models = {one.uuid: one.name for one in record.gpus}
    groups: dict[tuple[str, int | None, object], list[int]] = {}
    for place, one in enumerate(record.measurements):
        measure = comparable(one)
        if measure and measure.of in {"gpu", "pair"}:
            of = models.get(one.gpu or ""), models.get(one.peer or "")
            groups.setdefault((one.name, one.size, of), []).append(place)
    found = {}
    few = max(1, len(record.gpus) // 4)
    for (name, _, _), places in groups.items():
        if len(places) < 2:
            continue
        figures = [record.measurements[place].value or 0.0 for place in places]
        told: Stray = stray(figures, measures()[name])
        slow = [record.measurements[places[number]] for number in told.worse]
        blamed = cover((one.gpu or "", one.peer or one.gpu or "") for one in slow)
        for number, place in enumerate(places):
            distance = measures()[name].worse(figures[number], told.middle)
            found[place] = (distance, number in told.worse and len(blamed) <= few)
    return found
