# SPDX-License-Identifier: Apache-2.0
"""The acceptance of all hosts of many runs, compared with norms, the fleet and their own past."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from rekindle.acceptance import (
    Judgement,
    compare_hosts,
    evaluate_figures,
    find_changes,
    judge_acceptance,
    judge_host,
)
from rekindle.acceptance.strips import Strip, find_worst, make_strips
from rekindle.fabric.past import find_link_changes
from rekindle.host import folders
from rekindle.records import AcceptanceRecord

from .row import State

if TYPE_CHECKING:  # gather.py imports this module
    from .contents import HostResults, Results

_NOT_COLLECTED = "It has GPUs, and no acceptance.json was collected."
_ACCEPT = "Run rekindle site -i lease_hosts --job acceptance on it."


class WorstGpu(msgspec.Struct):
    """A GPU that is far below the median of its kind, which may be no fault."""

    host: str
    message: str
    worse: float
    bad: bool


class FleetAcceptance(msgspec.Struct):
    """The acceptance of every host, by its newest record."""

    schema: Literal["rekindle/accepted/1"]
    state: State
    hosts: list[Judgement]
    worst: list[WorstGpu]
    """Three or fewer, the worst first."""
    unread: list[str]
    """A sentence for each run that was not read."""


def pick_newest(runs: Iterable[Results]) -> dict[str, HostResults]:
    """Return what each host with an acceptance had when it was last measured, by the hosts' names."""
    newest: dict[str, HostResults] = {}
    for host in (host for results in runs for host in results.hosts):
        known = newest.get(host.name)
        if host.acceptance and not (known and _started(known) >= _started(host)):
            newest[host.name] = host
    return dict(sorted(newest.items()))


def _started(host: HostResults) -> str:
    return host.acceptance.started if host.acceptance else ""


def read_accepted(host: HostResults) -> AcceptanceRecord | None:
    """Return a host's acceptance under its name in the results, evaluated; None if it has none."""
    return evaluate_figures(replace(host.acceptance, host=host.name)) if host.acceptance else None


def compare_accepted(runs: Iterable[Results], unread: list[str]) -> tuple[FleetAcceptance, list[Strip]]:
    """Return the verdict on each host that has GPUs, and the figures as they are shown.

    Args:
        runs: in any order; a host is compared with others by its newest record, and with its older ones.
        unread: a sentence for each run that was not read.
    """
    runs = list(runs)
    newest = pick_newest(runs)
    hosts = [host for results in runs for host in results.hosts]
    own = [host for host in hosts if host.host and not host.host.allocation]
    lacking = {host.name: host for host in own if not host.acceptance and host.host and host.host.gpus}
    past = [replace(host.acceptance, host=host.name) for host in hosts if host.acceptance]
    records = [record for host in newest.values() if (record := read_accepted(host))]
    fleet = compare_hosts(records)
    links = find_link_changes(fabric for results in runs for fabric in results.fabrics)
    judgements = []
    for record in records:
        outside = [flaw for flaw in fleet.flaws if flaw.host == record.host]
        outside += links.get(record.host, [])
        judgements.append(
            judge_acceptance(record, [*outside, *find_changes(record, past)], record.host in fleet.hosts)
        )
    for name in sorted((lacking.keys() | links.keys()) - newest.keys()):
        judged = judge_host(name, links.get(name, ()))
        judgements.append(_lacking(lacking[name]) if judged.verdict == "PASS" and name in lacking else judged)
    shown = make_strips(records, [flaw for judgement in judgements for flaw in judgement.flaws])
    worst_gpus = [WorstGpu(point.host, point.message, point.worse, point.bad) for point in find_worst(shown)]
    bad = {judgement.host for judgement in judgements if judgement.verdict != "PASS"}
    of_other_version = {host.name for host in lacking.values() if any(row.other_version for row in host.rows)}
    state: State = "ok" if not bad else "failed"
    if (bad or unread) and bad <= of_other_version:
        state = "unknown"
    return FleetAcceptance("rekindle/accepted/1", state, judgements, worst_gpus, unread), shown


def _lacking(host: HostResults) -> Judgement:
    causes = [row.cause for row in host.rows if row.cause and folders.ACCEPTANCE_RECORD in row.cause]
    cause = causes[0] if causes else _NOT_COLLECTED
    return Judgement(
        host=host.name, verdict="UNPROVEN", cause=cause, remedy=_ACCEPT, flaws=(), action="RETEST"
    )
