# SPDX-License-Identifier: Apache-2.0
"""Links as acceptance knows GPUs: for norms of them, and to compare each with its own past."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rekindle.acceptance.flaw import Flaw
from rekindle.acceptance.history import find_figure_changes
from rekindle.records import AcceptanceRecord, AcceptedGpu, Measurement
from rekindle.records.fabric import FabricRecord

from .judgement import judge_fabric
from .pairs import find_best, find_blamed, group_pairs, make_kind, select_measured
from .schedule import Pair


def make_link_record(record: FabricRecord, hosts: Iterable[str]) -> AcceptanceRecord:
    """Return the links between ``hosts`` as pairs of GPUs, which are the hosts: each at its largest size."""
    chosen, done = {*hosts}, select_measured(group_pairs(record.looks))
    largest: dict[tuple[str, Pair], tuple[int, float]] = {}
    for (op, size), best in find_best(done).items():
        for pair, value in best.items():
            if chosen.issuperset(pair):
                largest[op, pair] = max((size, value), largest.get((op, pair), (0, 0.0)))
    figures = (
        Measurement(name=f"fabric_{op}", gpu=one, peer=other, size=size, value=value, unit="GB/s", message="")
        for (op, (one, other)), (size, value) in largest.items()
    )
    return AcceptanceRecord(
        host="fabric",
        mode="short",
        started=record.started,
        seconds=record.seconds,
        kind=make_kind(done),
        gpus=tuple(
            AcceptedGpu(index=place, uuid=host, name="host") for place, host in enumerate(record.hosts)
        ),
        measurements=tuple(figures),
    )


def make_right_record(record: FabricRecord, hosts: Iterable[str]) -> AcceptanceRecord:
    """Return the links between those of ``hosts`` that nothing was wrong with here either."""
    named = {host for flaw in judge_fabric(record) if flaw.verdict for host in flaw.hosts}
    return make_link_record(record, {*hosts} - named)


def find_link_changes(records: Iterable[FabricRecord]) -> Iterator[Flaw]:
    """Yield what got worse since it was last measured: hosts by most of their links, or both ends of one.

    A link alone that was looked at once is noted, as it may have been slow for a moment.
    """
    known = sorted(records, key=lambda record: record.started)
    if len(known) < 2:
        return
    views = [make_link_record(record, record.hosts) for record in known]
    newest = {host: place for place, record in enumerate(known) for host in record.hosts}
    for place in dict.fromkeys(newest.values()):
        pairs, worse = group_pairs(known[place].looks), dict[Pair, Flaw]()
        for figure, flaw in find_figure_changes(views[place], views[:place]):
            if flaw.verdict:
                pair = (figure.gpu or "", figure.peer or "")
                worse[pair] = max(worse.get(pair, flaw), flaw, key=_worse)
        blamed, links = find_blamed(worse, pairs, 0)
        for host, own in blamed.items():
            worst = max((worse[pair] for pair in own), key=_worse)
            more = f" So are {len(own)} links of {host} in all."
            yield replace(worst, host=host, gpu=None, uuid=None, message=worst.message + more)
        for pair in links:
            flaw = worse[pair] if len(pairs[pair]) > 1 else worse[pair].of_verdict(None)
            yield from (replace(flaw, host=end, gpu=None, uuid=None) for end in pair)


def _worse(flaw: Flaw) -> float:
    return flaw.worse or 0.0
