# SPDX-License-Identifier: Apache-2.0
"""A GPU compared with its own past, on this lease or another."""

from collections.abc import Iterable, Iterator

from rekindle.records import AcceptanceRecord, Measurement

from .catalogue import find_comparable, load_limits, load_measures, pick_best
from .evaluation import describe_reading, format_figure
from .flaw import Flaw, make_flaw

Key = tuple[str, int | None, str, str | None]


def find_changes(record: AcceptanceRecord, earlier: Iterable[AcceptanceRecord]) -> Iterator[Flaw]:
    """Yield what `find_figure_changes` does, without the figures."""
    return (flaw for _, flaw in find_figure_changes(record, earlier))


def find_figure_changes(
    record: AcceptanceRecord, earlier: Iterable[AcceptanceRecord]
) -> Iterator[tuple[Measurement, Flaw]]:
    """Yield each figure of a GPU that differs from when it was last measured, on any host.

    Args:
        record: the newest.
        earlier: any others; those that are not older, or of another model, do not count.
    """
    past = load_limits().history
    same = (previous for previous in earlier if previous.kind.model == record.kind.model)
    older = [previous for previous in same if previous.started < record.started]
    last: dict[Key, tuple[str, float]] = {}
    for previous in sorted(older, key=lambda previous: previous.started):
        for _, value, keys in _figures(previous):
            last.update(dict.fromkeys(keys, (previous.started, value)))
    for measurement, value, keys in _figures(record):
        when, before = max((last[key] for key in keys if key in last), default=("", 0.0))
        if not before:
            continue
        measure = load_measures()[measurement.name]
        worse = measure.worse(value, before)
        if abs(worse) <= past.noted:
            continue
        fails = worse > (max(past.fails, measure.distance) if measure.distance else 0.0)
        how = "worse" if worse > 0 else "better"
        how = f"{abs(worse):.1%} {how} than the {format_figure(before)} of {when[:40]}"
        message = f"{describe_reading(record, measurement)}, {how} ({past.source})."
        change = make_flaw(record, measurement.name, measurement.gpu, message, worse)
        yield measurement, change if fails else change.of_verdict(None)


def _figures(record: AcceptanceRecord) -> Iterator[tuple[Measurement, float, list[Key]]]:
    """Yield the comparable figures of GPUs with their keys, by serial and by UUID.

    A host may lack serials, and UUIDs may change. Boards without a serial report zeros, or share one.
    """
    serials = [gpu.serial for gpu in record.gpus]
    by_uuid = {gpu.uuid: gpu.uuid for gpu in record.gpus}
    by_serial = {
        gpu.uuid: gpu.serial
        for gpu in record.gpus
        if gpu.serial and gpu.serial.strip("0") and serials.count(gpu.serial) == 1
    }
    for measurement in record.measurements:
        gpu, peer = measurement.gpu, measurement.peer
        value = pick_best(measurement) if find_comparable(measurement) else None
        if value is not None and gpu in by_uuid:
            keys = [
                (measurement.name, measurement.size, names[gpu], names.get(peer or ""))
                for names in (by_serial, by_uuid)
                if gpu in names and (peer is None or peer in names)
            ]
            yield measurement, value, keys
