# SPDX-License-Identifier: Apache-2.0
"""Whether sites' processes worked, by the driver's samples."""

from collections.abc import Iterator
from typing import NamedTuple

from rekindle.flare.configuration import does_launch
from rekindle.flare.tasks import GIVEN
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, MemberWork, SampleEvent
from rekindle.records.evidence import EvidenceLine

_SHORTEST_S = 5.0
"""In less time, a client may use less CPU time than the kernel counts."""
_NAMED = 5


class _Used(NamedTuple):
    site: str
    seconds: float | None
    """CPU time of what trains there; None if no sample shows any such process."""
    message: str
    at: EvidenceLine[SampleEvent]


@register_check(
    "federated",
    holds="The processes of every site that sent a result took CPU time for its tasks.",
)
def every_site_worked(run: Run) -> Iterator[Result]:
    """Of a site whose client launches its trainers, those alone count. Ranks that report their processes have
    each its own. On several nodes the batch system's daemons start the ranks, which no client has then.
    """
    yield from _not_distinct(run)
    if run.spec.nodes and not run.spec.over_hosts:
        yield holds("The batch system's daemons start the ranks: samples do not list their processes.")
        return
    done = {site: last for site, last in find_last_results(run).items() if site not in run.sites.lost}
    if not done or not any(line.event.worked for line in run.samples.lines):
        what = "sample has the CPU time of a site" if done else "site sent a recorded result"
        yield unknown(f"No {what}.")
        return
    given = find_first_tasks(run)
    used_by_sites = []
    for site, last in sorted(done.items()):
        seen = [line for line in run.samples.lines if site in line.event.worked]
        if not seen:
            yield unknown(f"No sample has a process of {site}, which sent the server results.")
            continue
        used = _used(run, site, seen, given.get(site), last)
        used_by_sites.append(used)
        if used.seconds is None:
            yield unknown(f"No sample has a trainer of {site}, which its client launches.", used.at)
        elif not used.seconds > 0:
            message = f"{site} used no CPU time from its first task to its last result: it did not train."
            yield fails(message, used.at)
    if used_by_sites:
        used_by_sites.sort(key=lambda used: used.seconds or 0.0)
        more = f"; and {len(used_by_sites) - _NAMED} more" if len(used_by_sites) > _NAMED else ""
        figures = "; ".join(used.message for used in used_by_sites[:_NAMED])
        yield holds(f"CPU time from the first task to the last result: {figures}{more}.", used_by_sites[0].at)


def _not_distinct(run: Run) -> Iterator[Result]:
    """Yield where sites share a process, and where a site's ranks are not one each, as they reported.

    TensorFlow's replicas are one process on each node.
    """
    owners: dict[tuple[str | None, int], str] = {}
    for (name, _), process in run.ranks.processes.items():
        if owners.setdefault(process, name) != name:
            yield unknown(f"{name} and {owners[process]} both ran in process {process[1]}.")
    replicas = any(line.event.device.startswith("/") for line in run.find(DeviceEvent))  # TensorFlow's names
    timed: dict[tuple[float, ...], tuple[str, int]] = {}
    for who in () if replicas else run.ranks.processes:
        seconds = tuple(line.event.seconds for line in run.ranks.rounds(*who))
        first = timed.setdefault(seconds, who)
        if first != who and len(seconds) > 1:  # of one round, two of many ranks may agree
            others = f"{first[0]} rank {first[1]}, to the last digit"
            yield unknown(f"{who[0]} rank {who[1]} took as long for its rounds as {others}.")
    for site in run.spec.sites:
        count = len({process for (name, _), process in run.ranks.processes.items() if name == site.name})
        if count not in {0, len(run.nodes) if replicas else site.ranks}:
            yield unknown(f"{site.ranks} ranks of {site.name} ran in {count} processes.")


def find_last_results(run: Run) -> dict[str, float]:
    """Return when the server got each site's last result, seconds since the epoch."""
    done: dict[str, float] = {}
    for result in run.results:
        done[result.event.site] = max(result.event.time, done.get(result.event.site, 0.0))
    return done


def find_first_tasks(run: Run) -> dict[str, float]:
    """Return when the server gave each site its first task, seconds since the epoch."""
    given: dict[str, float] = {}
    zone = run.clocks.ahead_s("server")
    for record in run.logs.records("server"):
        if match := GIVEN.search(record.message):
            given.setdefault(match[1], record.time - zone)
    return given


def _used(
    run: Run, site: str, seen: list[EvidenceLine[SampleEvent]], first: float | None, last: float
) -> _Used:
    before = [line for line in seen if first is not None and line.event.time <= first]
    after = [line for line in seen if line.event.time >= last]
    end = after[0] if after else seen[-1]
    began = before[-1].event if before else None
    if began and end.event.time - began.time < _SHORTEST_S:
        began = None
    then = began.worked[site] if began else MemberWork(nvflare_s=0.0, others_s=0.0, pids=())
    now = end.event.worked[site]
    own = now.nvflare_s - then.nvflare_s
    others = None if now.others_s is None else now.others_s - (then.others_s or 0.0)
    launched = does_launch(run.workspace, site)
    seconds = others if launched else own + (others or 0.0)
    message = f"{site} {own:.2f} s in NVFlare's client"
    message += f" and {others:.2f} s in what that launched" if others is not None else ""
    message += "" if began else " since its start"
    return _Used(site, seconds, message, end)
