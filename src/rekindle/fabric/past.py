# SPDX-License-Identifier: Apache-2.0
"""Links as acceptance knows GPUs: for norms of them, and to compare each with its own past."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rekindle.acceptance.comparison import cover_pairs
from rekindle.acceptance.flaw import Flaw
from rekindle.acceptance.history import list_changes
from rekindle.records import AcceptanceRecord, AcceptedGpu, Measurement
from rekindle.records.fabric import FabricRecord

from .pairs import find_best, group_pairs, make_kind, select_measured
from .schedule import Pair


def view_links(record: FabricRecord, hosts: Iterable[str]) -> AcceptanceRecord:
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


def find_link_changes(records: Iterable[FabricRecord]) -> Iterator[Flaw]:
    """Yield how each host's links differ from when they were last measured, once a host.

    A host is named alone if several of its links are worse, else both ends of the link are.
    """
    known = sorted(records, key=lambda record: record.started)
    views = [view_links(record, record.hosts) for record in known]
    newest = {host: place for place, record in enumerate(known) for host in record.hosts}
    for place in dict.fromkeys(newest.values()):
        changed: dict[Pair, Flaw] = {}
        for figure, flaw in list_changes(views[place], views[:place]):
            before = changed.get(pair := (figure.gpu or "", figure.peer or ""))
            if before is None or (flaw.worse or 0.0) > (before.worse or 0.0):
                changed[pair] = flaw
        worse = [pair for pair, flaw in changed.items() if flaw.verdict]
        for host, pairs in cover_pairs(worse).items():
            worst = max((changed[pair] for pair in pairs), key=lambda flaw: flaw.worse or 0.0)
            more = f" So are {len(pairs)} links of {host} in all." if len(pairs) > 1 else ""
            for end in [host] if more else pairs[0]:
                yield replace(worst, host=end, gpu=None, uuid=None, message=worst.message + more)
