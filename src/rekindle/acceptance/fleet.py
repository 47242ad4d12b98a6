"""Hosts of one kind against each other, after all of them: median and MAD of each measurement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from rekindle.records import AcceptanceRecord, Measurement

from .catalogue import Measure, comparable, measures
from .compare import middle, stray
from .flaw import Flaw, flaw, of_pairs
from .held import figure, where


class Compared(NamedTuple):
    """What a fleet says of its hosts."""

    flaws: tuple[Flaw, ...]
    hosts: frozenset[str]
    """Those whose speed was compared with another's, so that no norm is needed."""


class _Figure(NamedTuple):
    record: AcceptanceRecord
    one: Measurement
    value: float
    place: tuple[int | str | None, ...]
    """Of the GPU, or of both of a pair, in their host, where that may matter; or else their models."""


def compared(records: Iterable[AcceptanceRecord]) -> Compared:
    """Compare hosts; there may be any number of each kind, and of each host there is one record.

    A host that is slow as a whole is one flaw of its own. Where half of the hosts or more are slower than the
    others, nobody can tell which are right: theirs are UNPROVEN.
    """
    flaws: list[Flaw] = []
    hosts: set[str] = set()
    for (name, _, _), figures in _groups(records).items():
        by_host: dict[str, list[_Figure]] = {}
        for one in figures:
            by_host.setdefault(one.record.host, []).append(one)
        if len(by_host) < 2:
            continue
        slow = _slow_hosts(by_host, measures()[name])
        flaws += slow
        told = {one.host for one in slow}
        flaws += _one_by_one([one for one in figures if one.record.host not in told], measures()[name])
        if "_matmul" in name:
            hosts |= by_host.keys() - {one.host for one in slow if one.verdict == "UNPROVEN"}
    return Compared(tuple(flaws), frozenset(hosts))


def _groups(records: Iterable[AcceptanceRecord]) -> dict[tuple[str, int | None, object], list[_Figure]]:
    """Return figures by name, size and kind of host."""
    groups: dict[tuple[str, int | None, object], list[_Figure]] = {}
    for record in records:
        gpus = {one.uuid: one for one in record.gpus}
        linked = any(one.name == "nvlinks_up" and one.value for one in record.measurements)
        for one in record.measurements:
            measure = comparable(one)
            if measure is None or one.value is None or (measure.any_link and not linked):
                continue  # a host without any NVLink was built so
            of = (record.kind.model, record.kind.count) if measure.any_link else record.kind
            of_gpus = [gpus.get(uuid or "") for uuid in (one.gpu, one.peer)]
            place = tuple((gpu.index if measure.placed else gpu.name) if gpu else None for gpu in of_gpus)
            groups.setdefault((one.name, one.size, of), []).append(_Figure(record, one, one.value, place))
    return groups


def _slow_hosts(by_host: dict[str, list[_Figure]], measure: Measure) -> list[Flaw]:
    """Return the hosts of which most figures are bad."""
    hosts = list(by_host.values())
    told = stray([middle([one.value for one in host], measure) for host in hosts], measure)
    found = []
    for place, distance in told.worse.items():
        record, one, _, _ = hosts[place][0]
        many = len(hosts[place]) > 1
        value = middle([each.value for each in hosts[place]], measure)
        median = f"{len(hosts[place])} figures of {one.name} have the median {value:.4g} {measure.unit}"
        says = f"The host: {median}" if many else f"{where(record, one)}: {figure(one)}"
        says += f", {distance:.1%} worse than the {told.middle:.4g} of {len(hosts) - len(told.worse)} others"
        doubt = ", which are no more, so that either may be right" if told.many else ""
        slow = flaw(record, one.name, None if many else one.gpu, f"{says}{doubt}.", distance)
        found.append(replace(slow, verdict="UNPROVEN") if told.many else slow)
    return found


def _one_by_one(figures: list[_Figure], measure: Measure) -> Iterator[Flaw]:
    """Yield the GPUs, pairs and hosts that stand out among all in the same place."""
    places: dict[tuple[int | str | None, ...], list[_Figure]] = {}
    for each in figures:
        places.setdefault(each.place, []).append(each)
    pairs: dict[tuple[str, bool], list[tuple[Measurement, float]]] = {}
    records: dict[str, AcceptanceRecord] = {}
    for group in places.values():
        told = stray([each.value for each in group], measure)
        for place, distance in told.worse.items():
            record, one, _, _ = group[place]
            if measure.of == "pair":
                records[record.host] = record
                pairs.setdefault((record.host, told.many), []).append((one, distance))
                continue
            than = f"{distance:.1%} worse than the median {told.middle:.4g} of {len(group)} of its kind"
            slow = flaw(record, one.name, one.gpu, f"{where(record, one)}: {figure(one)}, {than}.", distance)
            yield replace(slow, verdict="UNPROVEN") if told.many else slow
    for (host, many), found in pairs.items():
        for slow in of_pairs(records[host], found, "far from the same pairs of the fleet"):
            yield replace(slow, verdict="UNPROVEN") if many else slow
