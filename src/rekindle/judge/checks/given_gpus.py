"""Whether sites' processes used the GPUs that a run was given, for examples, which write no evidence."""

from collections import Counter
from collections.abc import Container, Iterator
from typing import NamedTuple

from rekindle.judge.check import Result, check, fails, holds, unknown, without_gpus
from rekindle.judge.run import Run
from rekindle.records.events import SampleEvent

from .gpus import by_gpu, by_process, most_used, worst
from .processes import first_tasks, last_results

_WARM_S = 2.0
"""Work on a GPU counts after this time: creating the context is work too."""
_SHORTEST_S = 5.0
"""In less time, a process may start and end between two samples."""
_CONTEXT_MIB = 64
"""A process that computes on a GPU takes more; the driver's own use varies by a few MiB."""


class _Seen(NamedTuple):
    """What samples show of one GPU."""

    uuid: str
    held: dict[str, int]
    """Most memory at one moment, MiB by site; 0 where NVML does not report it."""
    shares: dict[str, int]

    def __str__(self) -> str:
        """Return them as a clause."""
        parts = [
            f"{site} {mib} MiB" + (f" and {self.shares[site]} %" if self.shares else "")
            for site, mib in sorted(self.held.items())
        ]
        return f"{self.uuid}: {', '.join(parts) or 'no process of its sites'}"


@check("example", unless=without_gpus)
def given_gpus_worked(run: Run) -> Iterator[Result]:
    """Every site's processes, by PID, held memory of each GPU that it was given and worked there.

    For a job that needs no GPU, it only reports what the processes took.
    """
    given: dict[str, list[str]] = {}
    for site in run.spec.sites:
        for uuid in site.gpus:
            given.setdefault(uuid, []).append(site.name)
    during = _during(run)
    seen = [_seen(run, uuid, sites, during) for uuid, sites in sorted(given.items())]
    at = next((line for line in reversed(run.samples) if line.event in during[-1:]), None)
    if not _needed(run):
        clauses = "; ".join(map(str, seen))
        yield holds(f"The job's description asks for no GPU. On {clauses}.", at)
    elif not during:
        yield unknown("The samples do not reach from the first task to the last result.")
    elif not any(run.owners_on(gpu.uuid) for gpu in seen):
        yield unknown("No sample lists the PIDs of a site, so its work on GPUs is unknown.", at)
    else:
        yield worst((_used(run, gpu, given[gpu.uuid], during) for gpu in seen), at)


def _needed(run: Run) -> bool:
    job = run.spec.job
    asked = job.example is not None and (job.example.gpus > 0 or "{gpus}" in job.example.command)
    return asked or job.ranks_per_site > 1


def _during(run: Run) -> list[SampleEvent]:
    """Return the samples from the first task to the first after the last result; none without that one."""
    done = max(last_results(run).values(), default=None)
    began = min(first_tasks(run).values(), default=0.0)
    samples = [line.event for line in run.samples if line.event.gpus and line.event.time >= began]
    after = [sample.time for sample in samples if done is not None and sample.time >= done]
    return [sample for sample in samples if after and sample.time <= after[0]]


def _seen(run: Run, uuid: str, sites: list[str], during: list[SampleEvent]) -> _Seen:
    held: dict[str, int] = {}
    for sample in during:
        of_site: Counter[str] = Counter()
        for pid, mib in _processes(sample, uuid).items():
            if (site := run.owners_on(uuid).get(pid)) in sites:
                of_site[site] += mib
        for site, mib in of_site.items():
            held[site] = max(mib, held.get(site, 0))
    shares = dict.fromkeys(held, 0)
    used = most_used(during, uuid, _warm(run, uuid, held))
    for pid, share in used.items():
        site = run.owners_on(uuid)[pid]
        shares[site] = max(share, shares[site])
    return _Seen(uuid, held, shares if used else {})


def _used(run: Run, seen: _Seen, sites: list[str], during: list[SampleEvent]) -> Result:
    found = _held(run, seen, sites, during)
    if found.state == "holds":
        found = _busy(run, seen, during, found.message)
    span = during[-1].time - during[0].time
    if found.state == "fails" and span < _SHORTEST_S:
        why = f"was not seen to in the {span:.1f} s from the first task to the last result"
        return unknown(f"{found.message}, or {why}")
    return found


def _held(run: Run, seen: _Seen, sites: list[str], during: list[SampleEvent]) -> Result:
    uuid = seen.uuid
    if not any(uuid in sample.gpus for sample in during):
        return unknown(f"{uuid} was not sampled from the first task to the last result")
    for site in sites:
        if site not in seen.held:
            why = _unmatched(run, uuid, during)
            return unknown(why) if why else fails(f"{site} held no memory on {uuid}: it did not work there")
        if not seen.held[site]:
            return unknown(f"{uuid} does not report the memory of {site}")
    return holds(f"with {' and '.join(f'{seen.held[site]} MiB held by {site}' for site in sites)}")


def _busy(run: Run, seen: _Seen, during: list[SampleEvent], held: str) -> Result:
    if seen.shares:
        found = by_process(seen.uuid, held, seen.shares)
        return holds(str(seen)) if found.state == "holds" else found
    warm = _warm(run, seen.uuid, seen.held)
    later = [sample for sample in during if seen.uuid in sample.gpus and sample.time > min(warm.values())]
    if not later:
        return unknown(f"{seen.uuid} was held for less than {_WARM_S:.0f} s, too short to see work there")
    return by_gpu(seen.uuid, held, warm, [sample.gpus[seen.uuid] for sample in later])


def _unmatched(run: Run, uuid: str, during: list[SampleEvent]) -> str | None:
    """Return why NVML's PIDs may not be the driver's; None if they are, or the GPU did nothing.

    In a PID namespace of its own, as in a container, a driver sees other PIDs than NVML, or NVML lists none.
    """
    known = {pid for line in run.samples for gpu in line.event.gpus.values() for pid in gpu.processes}
    if known & run.owners_on(uuid).keys():
        return None
    began = min(line.event.time for line in run.samples if line.event.worked)
    before = {pid for line in run.samples if line.event.time < began for pid in _processes(line.event, uuid)}
    if {pid for sample in during for pid in _processes(sample, uuid)} - before:
        return f"none of the PIDs on {uuid} is known to the driver, as in a PID namespace of its own"
    gpus = [line.event.gpus[uuid] for line in run.samples if uuid in line.event.gpus]
    used = [gpu.used_mib for gpu in gpus]
    worked = any(gpu.utilisation for gpu in gpus) or max(used) - min(used) >= _CONTEXT_MIB
    if not before and worked:
        return f"{uuid} worked or was held, and NVML lists no process there, as in a PID namespace of its own"
    return None


def _warm(run: Run, uuid: str, sites: Container[str | None]) -> dict[str, float]:
    """Return by PID from when the work of the sites' processes on a GPU counts, seconds since the epoch."""
    warm: dict[str, float] = {}
    for line in run.samples:
        for pid in _processes(line.event, uuid):
            if run.owners_on(uuid).get(pid) in sites:
                warm.setdefault(pid, line.event.time + _WARM_S)
    return warm


def _processes(sample: SampleEvent, uuid: str) -> dict[str, int]:
    return sample.gpus[uuid].processes if uuid in sample.gpus else {}
