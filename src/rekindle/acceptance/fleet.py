# SPDX-License-Identifier: Apache-2.0
"""Hosts of one kind compared with each other by median and MAD of each measurement."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rekindle.records import AcceptanceRecord, Measurement

from .catalogue import Measure, find_comparable, load_measures, pick_best
from .comparison import find_middle, find_outliers
from .evaluation import describe_reading, format_figure
from .flaw import Flaw, find_pair_flaws, make_flaw


class FleetComparison(NamedTuple):
    """The comparison of a fleet's hosts."""

    flaws: tuple[Flaw, ...]
    hosts: frozenset[str]
    """Hosts whose speed was compared with another's, and needs no norm."""


class _Figure(NamedTuple):
    record: AcceptanceRecord
    measurement: Measurement
    value: float
    place: tuple[int | str | None, ...]
    """Places of the GPUs in their host, where they matter, or else their models."""


def compare_hosts(records: Iterable[AcceptanceRecord]) -> FleetComparison:
    """Compare hosts of any kinds, by one record each.

    A slow host is one flaw. Where half of the hosts or more are slower than the others, they are UNPROVEN, as
    either may be right.
    """
    flaws: list[Flaw] = []
    hosts: set[str] = set()
    for (name, _, _), figures in _groups(records).items():
        by_host: dict[str, list[_Figure]] = {}
        for figure in figures:
            by_host.setdefault(figure.record.host, []).append(figure)
        if len(by_host) < 2:
            continue
        slow = _slow_hosts(by_host, load_measures()[name])
        flaws += slow
        slow_hosts = {flaw.host for flaw in slow}
        rest = [figure for figure in figures if figure.record.host not in slow_hosts]
        flaws += _outliers(rest, load_measures()[name])
        if "_matmul" in name:
            hosts |= by_host.keys() - {flaw.host for flaw in slow if flaw.verdict == "UNPROVEN"}
    return FleetComparison(tuple(flaws), frozenset(hosts))


def _groups(records: Iterable[AcceptanceRecord]) -> dict[tuple[str, int | None, object], list[_Figure]]:
    groups: dict[tuple[str, int | None, object], list[_Figure]] = {}
    for record in records:
        gpus = {gpu.uuid: gpu for gpu in record.gpus}
        linked = any(figure.name == "nvlinks_up" and figure.value for figure in record.measurements)
        for measurement in record.measurements:
            measure = find_comparable(measurement)
            value = pick_best(measurement) if measure else None
            if measure is None or value is None or (measure.any_link and not linked):
                continue  # a host without any NVLink was built so
            of = (record.kind.model, record.kind.count) if measure.any_link else record.kind
            of_gpus = [gpus.get(uuid or "") for uuid in (measurement.gpu, measurement.peer)]
            place = tuple((gpu.index if measure.placed else gpu.name) if gpu else None for gpu in of_gpus)
            figure = _Figure(record, measurement, value, place)
            groups.setdefault((measurement.name, measurement.size, of), []).append(figure)
    return groups


def _slow_hosts(by_host: dict[str, list[_Figure]], measure: Measure) -> list[Flaw]:
    hosts = list(by_host.values())
    outliers = find_outliers(
        [find_middle([figure.value for figure in host], measure) for host in hosts], measure
    )
    flaws = []
    for place, distance in outliers.worse.items():
        figures = hosts[place]
        record, measurement, _, _ = figures[0]
        many = len(figures) > 1
        value = find_middle([figure.value for figure in figures], measure)
        figure = f"{format_figure(value)} {measure.unit}"
        median = f"{len(figures)} figures of {measurement.name} have the median {figure}"
        message = f"The host: {median}" if many else describe_reading(record, measurement)
        others = len(hosts) - len(outliers.worse)
        message += f", {distance:.1%} worse than the {format_figure(outliers.middle)} of {others} others"
        doubt = ", which are not more, so either may be right" if outliers.many else ""
        uuid = None if many else measurement.gpu
        slow = make_flaw(record, measurement.name, uuid, f"{message}{doubt}.", distance)
        flaws.append(slow.of_verdict("UNPROVEN") if outliers.many else slow)
    return flaws


def _outliers(figures: list[_Figure], measure: Measure) -> Iterator[Flaw]:
    places: dict[tuple[int | str | None, ...], list[_Figure]] = {}
    for figure in figures:
        places.setdefault(figure.place, []).append(figure)
    pairs: dict[tuple[str, bool], list[tuple[Measurement, float]]] = {}
    records: dict[str, AcceptanceRecord] = {}
    for group in places.values():
        outliers = find_outliers([figure.value for figure in group], measure)
        for place, distance in outliers.worse.items():
            record, measurement, _, _ = group[place]
            if measure.of == "pair":
                records[record.host] = record
                pairs.setdefault((record.host, outliers.many), []).append((measurement, distance))
                continue
            median = format_figure(outliers.middle)
            than = f"{distance:.1%} worse than the median {median} of {len(group)} of its kind"
            message = f"{describe_reading(record, measurement)}, {than}."
            slow = make_flaw(record, measurement.name, measurement.gpu, message, distance)
            yield slow.of_verdict("UNPROVEN") if outliers.many else slow
    for (host, many), slow_pairs in pairs.items():
        for slow in find_pair_flaws(records[host], slow_pairs, "far from the same pairs of the fleet"):
            yield slow.of_verdict("UNPROVEN") if many else slow
