"""A federation over hosts: who was connected, by which certificate, and what its rounds cost."""

import re
from collections import Counter
from collections.abc import Iterator
from statistics import median

from rekindle.flare.workspace import SERVER
from rekindle.host import folders
from rekindle.judge.check import Result, check, fails, holds, unknown
from rekindle.judge.run import Run
from rekindle.records.events import SampleEvent, TaskEvent

_COLOUR = re.compile(r"\x1b\[[\d;]{0,16}m")
_CONNECTED = re.compile(
    r"Connection \[CN\d{1,9} \S{1,100}:(?P<port>\d{1,5}) <= (?P<peer>\S{1,100}):\d{1,5}"
    r"(?: SSL (?P<name>\S{1,200}))?\] is created"
)
"""Of NVFlare's parent at the server: with the common name of the certificate that the other side has."""
_JOINED = re.compile(r"New client (?P<name>\S{1,200})@\S{1,100} joined\.")
_MIB = 1 << 20


def _on_one_host(run: Run) -> str | None:
    return None if run.spec.federated else "All sites are on one host."


@check("ours", "example", unless=_on_one_host)
def only_sites_connected(run: Run) -> Iterator[Result]:
    """Every site connected to the server by TLS with a certificate of its own, and nobody else did."""
    sites = {site.name for site in run.spec.sites}
    lines = [(number, _COLOUR.sub("", line)) for number, line in enumerate(run.job_log, 1)]
    found = [(number, match) for number, line in lines for match in _CONNECTED.finditer(line)]
    outside = [(number, match) for number, match in found if match["port"] == str(run.spec.port)]
    peers: dict[str, set[str]] = {}
    for number, match in outside:
        name = match["name"]
        if name is None:
            yield fails(f"{match['peer']} connected to the server without TLS.", folders.JOB_LOG)
        elif name in sites:
            peers.setdefault(name, set()).add(match["peer"])
        elif name != run.spec.user:
            yield fails(f"Line {number} of job.log: {name}, no site of the run, connected.", folders.JOB_LOG)
    joined = Counter(match["name"] for _, line in lines for match in _JOINED.finditer(line))
    for name in sorted(joined.keys() - sites):
        yield fails(f"{name}, which is no site of the run, joined the federation.", folders.JOB_LOG)
    for name in sorted(sites):
        if name not in peers or not joined[name]:
            yield unknown(f"The server's log does not show how {name} joined it.", folders.JOB_LOG)
        elif len(peers[name]) > 1:
            yield unknown(f"{name} connected from {' and '.join(sorted(peers[name]))}.", folders.JOB_LOG)
    again = [f"{name} {count} times" for name, count in sorted(joined.items()) if count > 1]
    more = f" Joined again: {', '.join(again)}." if again else ""
    yield holds(f"{len(sites)} sites connected by TLS, each with its own certificate.{more}", folders.JOB_LOG)


@check("ours", "example", needs=(TaskEvent,), unless=_on_one_host)
def rounds_waited_for(run: Run) -> Result:
    """How long the server waited in each round for the slowest site, once it had the first result."""
    by_round: dict[int, list[tuple[float, str]]] = {}
    for line in run.models_sent:
        if line.event.round is not None:
            by_round.setdefault(line.event.round, []).append((line.event.time, line.event.site))
    waits = {number: max(came)[0] - min(came)[0] for number, came in by_round.items()}
    last = Counter(max(came)[1] for came in by_round.values() if len(came) > 1)
    if not last:
        return holds("No round had results of two sites.")
    site, times = last.most_common(1)[0]
    return holds(
        f"The server waited {median(waits.values()):.1f} s a round for the slowest site (median), "
        f"for {site} in {times} of {len(by_round)}."
    )


@check("ours", "example", needs=(SampleEvent,), unless=_on_one_host)
def bytes_over_the_wire(run: Run) -> Result:
    """What each site's host received and sent over its network while the server ran the job's rounds."""
    starts = [record.time for record in run.records(SERVER) if "Round 0 started" in record.message]
    clauses = []
    for site in run.spec.sites:
        seen = [line.event for line in run.samples_of(site.node) if line.event.network]
        seen = [event for event in seen if not starts or event.time >= starts[0] - run.zone(SERVER) - 1]
        if len(seen) < 2 or seen[0].network is None or seen[-1].network is None:
            continue
        first, end = seen[0].network, seen[-1].network
        received, sent = ((end[way] - first[way]) / _MIB / run.spec.job.rounds for way in (0, 1))
        clauses.append(f"{site.name} {received:.1f} received and {sent:.1f} sent")
    if not clauses:
        return holds("The hosts' networks were not counted.")
    return holds(f"MiB a round over the network, all traffic of the host: {'; '.join(clauses)}.")
