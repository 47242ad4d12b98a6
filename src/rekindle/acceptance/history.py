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
    last: dict[Key, tuple[float, str]] = {}
    for then in sorted(older, key=lambda one: one.started):
        for key, (_, value) in _figures(then).items():
            last[key] = value, then.started
    for key, (one, value) in _figures(record).items():
        if key not in last or not last[key][0]:
            continue
        before, when = last[key]
        measure = measures()[one.name]
        worse = measure.worse(value, before)
        if abs(worse) <= past.said:
            continue
        fails = worse > (max(past.fails, measure.distance) if measure.distance else 0.0)
        how = f"{abs(worse):.1%} {'worse' if worse > 0 else 'better'} than the {before:.4g} of {when[:40]}"
        says = f"{where(record, one)}: {figure(one)}, {how} ({past.source})."
        found = flaw(record, one.name, one.gpu, says, worse)
        yield found if fails else replace(found, verdict=None)


def _figures(record: AcceptanceRecord) -> dict[Key, tuple[Measurement, float]]:
    """Return the figures of GPUs, by serial or else UUID, that are compared at all.

    Boards without a serial have zeros, or one that another GPU of the host has too.
    """
    serials = [one.serial for one in record.gpus]
    known = {
        one.uuid: one.serial
        if one.serial and one.serial.strip("0") and serials.count(one.serial) == 1
        else one.uuid
        for one in record.gpus
    }
    found: dict[Key, tuple[Measurement, float]] = {}
    for one in record.measurements:
        if comparable(one) and one.value is not None and one.gpu in known:
            key = (one.name, one.size, known[one.gpu], known.get(one.peer or ""))
            found[key] = one, one.value
    return found
