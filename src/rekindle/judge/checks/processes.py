"""Whether sites' processes worked, by the driver's samples, for examples, which write no evidence."""

from collections.abc import Iterator
from typing import NamedTuple

from rekindle.flare.announced import launches
from rekindle.flare.tasks import GIVEN
from rekindle.judge.check import Result, check, fails, holds, unknown
from rekindle.judge.run import Run
from rekindle.records.events import SampleEvent, Worked
from rekindle.records.evidence import Line

_SHORTEST_S = 5.0
"""In less time, a client may use less CPU time than the kernel counts."""
_NAMED = 5


class _Used(NamedTuple):
    site: str
    seconds: float | None
    """CPU time of what trains there; None if no sample shows any such process."""
    message: str
    at: Line[SampleEvent]


def _unseen(run: Run) -> str | None:
    srun = run.spec.nodes and not run.spec.federated  # SLURM's daemons start ranks, which no client has then
    listed = any(line.event.worked for line in run.samples) and not srun
    return None if listed or run.kind == "example" else "Samples do not list the processes of ranks."


@check("ours", "example", unless=_unseen)
def every_site_worked(run: Run) -> Iterator[Result]:
    """The processes of every site that sent a result took CPU time from its first task to its last result.

    Of a site whose client launches its trainers, those alone count.
    """
    done = {site: last for site, last in last_results(run).items() if site not in run.lost}
    if not done or not any(line.event.worked for line in run.samples):
        what = "sample has the CPU time of a site" if done else "site sent a recorded result"
        yield unknown(f"No {what}.")
        return
    given = first_tasks(run)
    used_by_sites = []
    for site, last in sorted(done.items()):
        seen = [line for line in run.samples if site in line.event.worked]
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


def last_results(run: Run) -> dict[str, float]:
    """Return when the server got each site's last result, seconds since the epoch."""
    done: dict[str, float] = {}
    for result in run.results:
        done[result.event.site] = max(result.event.time, done.get(result.event.site, 0.0))
    return done


def first_tasks(run: Run) -> dict[str, float]:
    """Return when the server gave each site its first task, seconds since the epoch."""
    given: dict[str, float] = {}
    zone = run.zone("server")
    for record in run.records("server"):
        if match := GIVEN.search(record.message):
            given.setdefault(match[1], record.time - zone)
    return given


def _used(run: Run, site: str, seen: list[Line[SampleEvent]], first: float | None, last: float) -> _Used:
    before = [line for line in seen if first is not None and line.event.time <= first]
    after = [line for line in seen if line.event.time >= last]
    end = after[0] if after else seen[-1]
    began = before[-1].event if before else None
    if began and end.event.time - began.time < _SHORTEST_S:
        began = None
    then = began.worked[site] if began else Worked(nvflare_s=0.0, others_s=0.0, pids=())
    now = end.event.worked[site]
    own = now.nvflare_s - then.nvflare_s
    others = None if now.others_s is None else now.others_s - (then.others_s or 0.0)
    launched = launches(run.workspace, site)
    seconds = others if launched else own + (others or 0.0)
    message = f"{site} {own:.2f} s in NVFlare's client"
    message += f" and {others:.2f} s in what that launched" if others is not None else ""
    message += "" if began else " since its start"
    return _Used(site, seconds, message, end)
