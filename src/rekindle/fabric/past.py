# SPDX-License-Identifier: Apache-2.0
"""Links as acceptance knows GPUs: for norms of them, and to compare each with its own past."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rekindle.acceptance.flaw import Flaw
from rekindle.acceptance.history import find_figure_changes
from rekindle.records import AcceptanceRecord, AcceptedGpu, Measurement
from rekindle.records.fabric import FabricLook, FabricRecord

from .groups import list_whole
from .judgement import judge_fabric
from .pairs import Group, find_best, find_blamed, group_pairs, make_kind, select_measured

_TOGETHER = ", "
"""Between the names of hosts that stand for one GPU."""


def make_link_records(record: FabricRecord, hosts: Iterable[str]) -> list[AcceptanceRecord]:
    """Return the links between ``hosts`` as pairs of GPUs, which are the hosts; all together are one GPU.

    Each has its figures at its largest size.
    """
    chosen, whole = {*hosts}, list_whole(record.looks)
    all_hosts = {tuple(sorted(whole[0].hosts)): whole} if whole else {}
    return [_view(record, chosen, group_pairs(record.looks)), _view(record, chosen, all_hosts)]


def _view(record: FabricRecord, chosen: set[str], groups: dict[Group, list[FabricLook]]) -> AcceptanceRecord:
    done = select_measured(groups)
    largest: dict[tuple[str, Group], tuple[int, float]] = {}
    for (op, size), best in find_best(done).items():
        for group, value in best.items():
            if chosen.issuperset(group):
                largest[op, group] = max((size, value), largest.get((op, group), (0, 0.0)))
    figures, names = [], {*record.hosts}
    for (op, group), (size, value) in largest.items():
        is_pair = len(group) == 2
        gpu, peer = (group[0], group[1]) if is_pair else (_TOGETHER.join(group), None)
        names.add(gpu)
        figures.append(
            Measurement(
                name=f"fabric_{op}", gpu=gpu, peer=peer, size=size, value=value, unit="GB/s", message=""
            )
        )
    return AcceptanceRecord(
        host="fabric",
        mode="short",
        started=record.started,
        seconds=record.seconds,
        kind=make_kind(done),
        gpus=tuple(
            AcceptedGpu(index=place, uuid=name, name="host") for place, name in enumerate(sorted(names))
        ),
        measurements=tuple(figures),
    )


def make_right_records(record: FabricRecord, wrong: set[str]) -> list[AcceptanceRecord]:
    """Return the links between hosts that are neither ``wrong`` nor named here, or a right one's nodes."""
    named = {host for flaw in judge_fabric(record) if flaw.verdict for host in flaw.hosts}
    return [] if record.host in wrong else make_link_records(record, {*record.hosts} - named - wrong)


def find_link_changes(records: Iterable[FabricRecord]) -> dict[str, list[Flaw]]:
    """Return what got worse since it was last measured, by each host of which an earlier fabric is known.

    That is a host by most of its links, both ends of one, or else all hosts together. What was looked at once
    is noted, as it may have been slow for a moment. A host has the changes of its allocation's nodes.
    """
    by_place: dict[str | None, list[FabricRecord]] = {}
    for record in sorted(records, key=lambda record: record.started):
        by_place.setdefault(record.host, []).append(record)
    found: dict[str, list[Flaw]] = {}
    for place, known in by_place.items():
        newest = {host: number for number, record in enumerate(known) for host in record.hosts}
        for number in dict.fromkeys(newest.values()):
            if number:
                found |= {place or host: [] for host in known[number].hosts if newest[host] == number}
                for flaw in _compare(known[number], known[:number]):
                    host = place or flaw.host
                    found.setdefault(host, []).append(replace(flaw, host=host, gpu=None, uuid=None))
    return found


def _compare(record: FabricRecord, earlier: Sequence[FabricRecord]) -> Iterator[Flaw]:
    views = [make_link_records(each, each.hosts) for each in (*earlier, record)]
    worse: list[dict[tuple[str, str], Flaw]] = [{}, {}]
    for kind, own in enumerate(worse):
        *past, now = (view[kind] for view in views)
        for figure, flaw in find_figure_changes(now, past):
            if flaw.verdict:
                of = (figure.gpu or "", figure.peer or "")
                own[of] = max(own.get(of, flaw), flaw, key=_worse)
    pairs, (links, together) = group_pairs(record.looks), worse
    blamed, alone = find_blamed(links, pairs, 0)
    for host, own_pairs in blamed.items():
        worst = max((links[pair] for pair in own_pairs), key=_worse)
        more = f" So are {len(own_pairs)} links of {host} in all."
        yield replace(worst, host=host, message=worst.message + more)
    for pair in alone:
        yield from _name_ends(links[pair], pair, len(pairs[pair]))
    for flaw in () if links else together.values():
        yield from _name_ends(flaw, record.hosts, len(list_whole(record.looks)))


def _name_ends(flaw: Flaw, ends: Iterable[str], looks: int) -> Iterator[Flaw]:
    for end in ends:
        yield replace(flaw if looks > 1 else flaw.of_verdict(None), host=end)


def _worse(flaw: Flaw) -> float:
    return flaw.worse or 0.0
