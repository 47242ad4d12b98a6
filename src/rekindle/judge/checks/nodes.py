# SPDX-License-Identifier: Apache-2.0
"""Runs over several nodes: ranks on their nodes, at one pace, and across the network."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from rekindle.host import files, folders, nccl
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.run import Run
from rekindle.records import Site
from rekindle.records.events import DeviceEvent

from .exchange import skip_without_devices, skip_without_ranks

_STRAGGLES = 1.5
"""Times as long as the other nodes' ranks take for their own part of the steps …"""
_MATTERS = 0.05
"""… and so much longer that this share of the rounds' time is spent on it."""
_OVER_TCP = {"gloo": "gloo", "RING": "gRPC"}
"""By the backend that ranks report: torch's, and TensorFlow's between nodes."""


@register_check(
    "federated",
    holds="Every node of the allocation had its ranks of every site; without nodes all are on one machine.",
    unless=skip_without_devices,
)
def ranks_on_their_nodes(run: Run) -> Iterator[Result]:
    devices = {(line.event.site, line.event.rank): line for line in run.find(DeviceEvent)}
    first = next(iter(devices.values()), None)
    for site in run.spec.sites:
        for rank in range(site.ranks):
            who, line = f"{site.name} rank {rank}", devices.get((site.name, rank))
            node = run.spec.node_of(site, rank)
            if line is None:
                if node:
                    yield unknown(f"{who} did not report that it ran on {node}.")
            elif node and line.event.node != node:
                yield fails(f"{who} ran on {line.event.node}, and not on {node}.", line)
            elif first and not node and line.event.node != first.event.node:
                yield unknown(f"{who} ran on {line.event.node}; others on {first.event.node}.", line)


@register_check(
    "federated",
    holds="No node's ranks take much longer than others' for their own part of the steps.",
    unless=skip_without_ranks,
)
def nodes_keep_pace(run: Run) -> Iterator[Result]:
    by_node: dict[str, list[float]] = {}
    longest = 0.0
    for site in run.spec.sites:
        for rank in range(site.ranks):
            lines = run.ranks.rounds(site.name, rank)
            node, events = run.spec.node_of(site, rank), [line.event for line in lines[1:] or lines]
            events = [event for event in events if not run.ranks.measure_suspension(event)]
            forwards = [event.forward_s for event in events if event.forward_s is not None]
            if node and events and len(forwards) == len(events):  # the first round also loads and compiles
                by_node.setdefault(node, []).append(sum(forwards))
                longest = max(longest, sum(event.seconds for event in events))
    taken = {node: median(seconds) for node, seconds in by_node.items()}
    for node, seconds in taken.items():
        others = median([taken[name] for name in taken if name != node] or [seconds])
        if seconds > _STRAGGLES * others and seconds - others > _MATTERS * longest:
            where = f"where {' and '.join(name for name in taken if name != node)} took {others:.2f} s"
            yield holds(
                f"{node} straggles: its ranks took {seconds:.2f} s for their part of the steps, {where}."
            )


def _on_one_machine(run: Run) -> str | None:
    spread = any(
        len({run.spec.node_of(site, rank) for rank in range(site.ranks)}) > 1 for site in run.spec.sites
    )
    return skip_without_devices(run) if spread else "The ranks of each site are on one machine."


@register_check(
    "federated",
    holds="Ranks of different nodes communicated over what NCCL reports; gloo and gRPC use TCP.",
    unless=_on_one_machine,
)
def ranks_crossed_the_network(run: Run) -> Iterator[Result]:
    for site in run.spec.sites:
        lines = [line for line in run.find(DeviceEvent) if line.event.site == site.name]
        backends = {line.event.backend for line in lines}
        if backends <= _OVER_TCP.keys():
            if lines:
                by = " and ".join(sorted(_OVER_TCP[backend] for backend in backends))
                yield holds(f"Ranks crossed the network by {by}, over TCP.", lines[-1])
            continue
        crossed: dict[str, str] = {}
        for path in files.find_files(run.folder, f"{folders.EVIDENCE}/{site.name}.nccl-*.log"):
            for link in _crossed(run, site, path):
                crossed.setdefault(link, path.relative_to(run.folder).as_posix())
        if crossed:
            message = f"Ranks crossed the network by NCCL, over {' and '.join(sorted(crossed))}."
            yield holds(message, next(iter(crossed.values())))
        else:
            yield unknown(f"NCCL does not report how the ranks of {site.name} crossed the network.")


def _crossed(run: Run, site: Site, path: Path) -> Iterator[str]:
    try:
        text = files.read_content(path).decode("utf-8", "replace")
    except OSError:
        return

    def crosses(*ends: int) -> bool:
        return max(ends) < site.ranks and len({run.spec.node_of(site, rank) for rank in ends}) > 1

    for transport, _ in nccl.find_transports(text, crosses):
        yield transport
