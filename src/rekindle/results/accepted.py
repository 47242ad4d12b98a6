"""The acceptance of all hosts of any number of runs: each against norms, the fleet and its own past."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from rekindle.acceptance import Judgement, compared, evaluated, judged, since_last
from rekindle.acceptance.strips import Strip, strips, worst
from rekindle.host import folders
from rekindle.records import AcceptanceRecord

if TYPE_CHECKING:  # which has this of its own hosts
    from .gather import HostResults, Results

State = Literal["good", "bad", "untold"]

_NOT_COLLECTED = "It has GPUs, and no acceptance.json was collected."
_ACCEPT = "Run playbooks/accept.yml on it."


class Worst(msgspec.Struct):
    """A GPU that is far below the median of its kind, which may be no fault."""

    host: str
    says: str
    worse: float
    """Relative to the median."""
    bad: bool


class Accepted(msgspec.Struct):
    """The acceptance of every host, by its newest record."""

    schema: Literal["rekindle/accepted/1"]
    state: State
    hosts: list[Judgement]
    worst: list[Worst]
    """Three or fewer, the worst first."""
    unread: list[str]
    """Why a run is left out, a sentence each."""


def accepted(runs: Iterable[Results], unread: list[str]) -> tuple[Accepted, list[Strip]]:
    """Return the verdict on each host that has GPUs, and the figures as they are shown.

    Args:
        runs: in any order; a host is compared with others by its newest record, and with its older ones.
        unread: why further runs are left out, a sentence each.
    """
    taken: dict[str, list[AcceptanceRecord]] = {}
    lacking: dict[str, HostResults] = {}
    for results in runs:
        for host in results.hosts:
            if host.acceptance:
                taken.setdefault(host.name, []).append(replace(host.acceptance, host=host.name))
            elif host.host and host.host.gpus:
                lacking[host.name] = host
    newest = {name: max(records, key=lambda record: record.started) for name, records in taken.items()}
    past = [record for records in taken.values() for record in records]
    records = [evaluated(record) for _, record in sorted(newest.items())]
    fleet = compared(records)
    judgements = []
    for record in records:
        outside = [flaw for flaw in fleet.flaws if flaw.host == record.host]
        judgements.append(judged(record, [*outside, *since_last(record, past)], record.host in fleet.hosts))
    judgements += [_lacking(lacking[name]) for name in sorted(lacking.keys() - newest.keys())]
    shown = strips(records, [flaw for judgement in judgements for flaw in judgement.flaws])
    worst_gpus = [Worst(point.host, point.says, point.worse, point.bad) for point in worst(shown)]
    state = _state(judgements, lacking, unread)
    return Accepted("rekindle/accepted/1", state, judgements, worst_gpus, unread), shown


def _state(judgements: list[Judgement], lacking: dict[str, HostResults], unread: list[str]) -> State:
    bad = [judgement.host for judgement in judgements if judgement.verdict != "PASS"]
    of_other_version = {host.name for host in lacking.values() if any(row.other_version for row in host.rows)}
    if bad:
        return "untold" if of_other_version.issuperset(bad) else "bad"
    return "untold" if unread else "good"


def _lacking(host: HostResults) -> Judgement:
    """Return the verdict on a host with GPUs of which no acceptance is here."""
    flaw = next(
        (row.cause for row in host.rows if row.cause and folders.ACCEPTANCE_RECORD in row.cause), None
    )
    return Judgement(
        host=host.name, verdict="UNPROVEN", cause=flaw or _NOT_COLLECTED, remedy=_ACCEPT, flaws=()
    )
