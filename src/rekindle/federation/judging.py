# SPDX-License-Identifier: Apache-2.0
"""The checks of a federation: who was connected, by which certificate, and what its rounds cost."""

import re
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import cast

from rekindle.flare.losses import count_joins
from rekindle.flare.workspace import SERVER
from rekindle.host import folders
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.run import Run
from rekindle.judge.sites import NEVER
from rekindle.records import RunMember
from rekindle.records.events import TaskEvent

from .records import is_federation, read_participant

_CONNECTED = re.compile(
    r"Connection \[CN\d{1,9} \S{1,100}:(?P<port>\d{1,5}) <= (?P<peer>\S{1,100}):\d{1,5}"
    r"(?: SSL (?P<name>\S{1,200}))?\] is created"
)
"""Of NVFlare's parent at the server: with the common name of the certificate that the other side has."""
_MIB = 1 << 20


def _on_one_host(run: Run) -> str | None:
    return None if is_federation(run.spec) else "All sites are on one host."


@register_check(
    "federated",
    holds="Every site connected to the server by TLS with a certificate of its own, and nobody else did.",
    unless=_on_one_host,
)
def only_sites_connected(run: Run) -> Iterator[Result]:
    server = read_participant(cast("RunMember", run.spec.member))  # else the check does not apply
    sites = {site.name for site in run.sites.all if run.sites.lost.get(site.name) != NEVER}
    lines = enumerate(run.logs.printed, 1)
    found = ((number, match) for number, line in lines for match in _CONNECTED.finditer(line))
    outside = ((number, match) for number, match in found if match["port"] == str(server.port))
    peers: dict[str, set[str]] = {}
    for number, match in outside:
        name = match["name"]
        if name is None:
            yield fails(f"{match['peer']} connected to the server without TLS.", folders.JOB_LOG)
        elif name in sites:
            peers.setdefault(name, set()).add(match["peer"])
        elif name != server.user:
            yield fails(f"Line {number} of job.log: {name}, no site of the run, connected.", folders.JOB_LOG)
    came = count_joins(run.logs.printed)
    for name in sorted(came.keys() - sites):
        yield fails(f"{name}, which is no site of the run, joined the federation.", folders.JOB_LOG)
    for name in sorted(sites):
        if name not in peers or not came[name]:
            yield unknown(f"The server's log does not show how {name} joined it.", folders.JOB_LOG)
        elif len(peers[name]) > 1:
            yield unknown(f"{name} connected from {' and '.join(sorted(peers[name]))}.", folders.JOB_LOG)
    again = [f"{name} {count} times" for name, count in sorted(came.items()) if count > 1]
    more = f" Joined again: {', '.join(again)}." if again else ""
    yield holds(f"{len(sites)} sites connected by TLS, each with its own certificate.{more}", folders.JOB_LOG)


@register_check(
    "federated",
    holds="No site left before the end, unless the inventory lets the job go on without it.",
    unless=_on_one_host,
)
def sites_stayed(run: Run) -> Iterator[Result]:
    for site, number in run.sites.gone.items():
        left = "never joined" if number == NEVER else f"left in round {number + 1} of {run.spec.job.rounds}"
        if site in run.sites.lost:
            yield holds(f"{site} {left}, and the job went on without it, as its inventory allows.")
        elif number != NEVER:
            least = run.spec.member.min_sites if run.spec.member else len(run.spec.sites)
            yield fails(f"{site} {left}, and the job needs {least} sites.")


@register_check(
    "federated",
    holds="The server's log shows how long it waited for the slowest site in a round.",
    needs=(TaskEvent,),
    unless=_on_one_host,
)
def rounds_over_the_network(run: Run) -> Result:
    """It reports that, and what crossed each site's network."""
    return holds(f"{_waited(run)} {_crossed(run)}")


def _waited(run: Run) -> str:
    by_round: dict[int, list[tuple[float, str]]] = {}
    for line in run.training.models:
        if line.event.round is not None:
            by_round.setdefault(line.event.round, []).append((line.event.time, line.event.site))
    last = Counter(max(came)[1] for came in by_round.values() if len(came) > 1)
    if not last:
        return "No round had results of two sites."
    waited = median(max(came)[0] - min(came)[0] for came in by_round.values())
    site, times = last.most_common(1)[0]
    return (
        f"From the first result of a round to the last the server waited {waited:.1f} s (median); {site} was "
        f"last in {times} of {len(by_round)}."
    )


def _crossed(run: Run) -> str:
    starts = [record.time for record in run.logs.records(SERVER) if "Round 0 started" in record.message]
    since = starts[0] - run.clocks.ahead_s(SERVER) - 1 if starts else 0.0
    clauses = []
    for site in run.spec.sites:
        events = [line.event for line in run.samples.of_node(site.node)]
        counted = [event.network for event in events if event.network and event.time >= since]
        if len(counted) > 1:
            (came, went), (received, sent) = counted[0], counted[-1]
            each = run.spec.job.rounds * _MIB
            figures = f"{(received - came) / each:.1f} received and {(sent - went) / each:.1f} sent"
            clauses.append(f"{site.name} {figures}")
    if not clauses:
        return "What crossed the hosts' networks was not counted."
    return f"MiB a round, with all else that the host did: {'; '.join(clauses)}."
