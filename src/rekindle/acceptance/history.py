"""A GPU against itself: what it did when it was last measured, on this lease or another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rekindle.records import AcceptanceRecord, Measurement

from .catalogue import comparable, limits, measures
from .flaw import Flaw, flaw
from .held import figure, where

Key = tuple[str, int | None, str, str | None]


def since_last(record: AcceptanceRecord, earlier: Iterable[AcceptanceRecord]) -> Iterator[Flaw]:
    """Yield each figure of a GPU that is another than when it was last measured, wherever that was.

    Args:
        record: of now.
        earlier: any others; those that are not older say nothing, nor do those of another model.
    """
    past = limits().history
    older = [one for one in earlier if one.started < record.started and one.kind.model == record.kind.model]
    last: dict[Key, tuple[str, float]] = {}
    for then in sorted(older, key=lambda one: one.started):
        for _, value, keys in _figures(then):
            last.update(dict.fromkeys(keys, (then.started, value)))
    for one, value, keys in _figures(record):
        when, before = max((last[key] for key in keys if key in last), default=("", 0.0))
        if not before:
            continue
        measure = measures()[one.name]
        worse = measure.worse(value, before)
        if abs(worse) <= past.said:
            continue
        fails = worse > (max(past.fails, measure.distance) if measure.distance else 0.0)
        how = f"{abs(worse):.1%} {'worse' if worse > 0 else 'better'} than the {before:.4g} of {when[:40]}"
        says = f"{where(record, one)}: {figure(one)}, {how} ({past.source})."
        found = flaw(record, one.name, one.gpu, says, worse)
        yield found if fails else replace(found, verdict=None)


def _figures(record: AcceptanceRecord) -> Iterator[tuple[Measurement, float, list[Key]]]:
    """Yield the figures of GPUs that are compared at all, by serial and by UUID: a host may lack the one, and
    have the other anew. Boards without a serial have zeros, or one that another GPU of the host has too.
    """
    serials = [one.serial for one in record.gpus]
    by_uuid = {one.uuid: one.uuid for one in record.gpus}
    by_serial = {
        one.uuid: one.serial
        for one in record.gpus
        if one.serial and one.serial.strip("0") and serials.count(one.serial) == 1
    }
    for one in record.measurements:
        if comparable(one) and one.value is not None and one.gpu in by_uuid:
            yield (
                one,
                one.value,
                [
                    (one.name, one.size, names[one.gpu], names.get(one.peer or ""))
                    for names in (by_serial, by_uuid)
                    if one.gpu in names and (one.peer is None or one.peer in names)
                ],
            )
