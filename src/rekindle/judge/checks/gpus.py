# SPDX-License-Identifier: Apache-2.0
"""Whether a site's processes used the GPUs that the run was given, by the driver's samples."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rekindle.judge.check import Result, fails, holds, rank_result, register_check, skip_without_gpus, unknown
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, GpuSample, SampleEvent

from .processes import find_first_tasks, find_last_results

_WARM_S = 2.0
"""Work on a GPU counts after this time: creating the context is work too."""
_SEEN_S = 2.0
"""Of training, in which two samples or more are taken. Seen on two H100s: two trainers took turns on a GPU in
rounds of 0.35 s, and no sample after the first second listed one of them."""
_SHORTEST_S = 5.0
"""In less time, a process may start and end between two samples."""
_CONTEXT_MIB = 64
"""A process that computes on a GPU takes more; the driver's own use varies by a few MiB."""


class _Seen(NamedTuple):
    """What samples show of one GPU."""

    uuid: str
    held: dict[str, int]
    """Most memory at one moment, MiB by who held it; 0 where NVML does not report it."""
    shares: dict[str, int]

    def __str__(self) -> str:
        """Return them as a clause."""
        parts = [
            f"{who} {mib} MiB" + (f" and {self.shares[who]} %" if self.shares else "")
            for who, mib in sorted(self.held.items())
        ]
        return f"{self.uuid}: {', '.join(parts) or 'no process of its sites'}"


@register_check(
    "federated",
    holds="Every site's processes, by PID, held memory of each GPU that it was given and worked there.",
    unless=skip_without_gpus,
)
def gpus_used(run: Run) -> Iterator[Result]:
    """So did every rank that reported the GPU. For a job that needs no GPU, it only reports what the
    processes took. How much a GPU worked is not judged: a small job leaves a large one idle most of the time.
    """
    given = _given(run)
    during = _during(run)
    seen = [_seen(run, uuid, names, during) for uuid, names in sorted(given.items())]
    at = next((line for line in reversed(run.samples.lines) if line.event in during[-1:]), None)
    if not _needed(run):
        clauses = "; ".join(map(str, seen))
        yield holds(f"The job's description asks for no GPU. On {clauses}.", at)
    elif not during:
        yield unknown("The samples do not reach from the first task to the last result.")
    elif not any(_owners(run, gpu.uuid) for gpu in seen):
        yield unknown("No sample lists the PIDs of a site, so its work on GPUs is unknown.", at)
    else:
        yield _worst((_used(run, gpu, given[gpu.uuid], during) for gpu in seen), at)


def _given(run: Run) -> dict[str, list[str]]:
    """Return who was given each GPU, by its UUID: the ranks that reported it, or else its sites."""
    given: dict[str, list[str]] = {}
    for site in run.spec.sites:
        for uuid in site.gpus:
            ranks = [event.who for event in _reported(run, uuid) if event.site == site.name]
            names = given.setdefault(uuid, [])
            names += [name for name in ranks or [site.name] if name not in names]
    return given


def _reported(run: Run, uuid: str) -> list[DeviceEvent]:
    return [line.event for line in run.find(DeviceEvent) if line.event.uuid == uuid]


def _owners(run: Run, uuid: str) -> dict[str, str]:
    """Return the rank or site of each process that may be on a GPU, by PID."""
    return {**run.samples.owners_on(uuid), **{str(event.pid): event.who for event in _reported(run, uuid)}}


def _needed(run: Run) -> bool:
    job = run.spec.job
    asked = job.example is not None and (job.example.gpus > 0 or "{gpus}" in job.example.command)
    return asked or job.assigns_gpus or job.ranks_per_site > 1


def _during(run: Run) -> list[SampleEvent]:
    """Return the samples from the first task to the first after the last result; none without that one."""
    done = max(find_last_results(run).values(), default=None)
    began = min(find_first_tasks(run).values(), default=0.0)
    samples = [line.event for line in run.samples.lines if line.event.gpus and line.event.time >= began]
    after = [sample.time for sample in samples if done is not None and sample.time >= done]
    return [sample for sample in samples if after and sample.time <= after[0]]


def _seen(run: Run, uuid: str, names: list[str], during: list[SampleEvent]) -> _Seen:
    held: dict[str, int] = {}
    owners = _owners(run, uuid)
    for sample in during:
        of_each: Counter[str] = Counter()
        for pid, mib in _processes(sample, uuid).items():
            if (name := owners.get(pid)) in names:
                of_each[name] += mib
        for name, mib in of_each.items():
            held[name] = max(mib, held.get(name, 0))
    shares = dict.fromkeys(held, 0)
    used = _most_used(during, uuid, _warm(run, uuid, held))
    for pid, share in used.items():
        shares[owners[pid]] = max(share, shares[owners[pid]])
    return _Seen(uuid, held, shares if used else {})


def _used(run: Run, seen: _Seen, names: list[str], during: list[SampleEvent]) -> Result:
    found = _held(run, seen, names, during)
    if found.state == "holds":
        found = _busy(run, seen, during, found.message)
    span = during[-1].time - during[0].time
    if found.state == "fails" and span < _SHORTEST_S:
        why = f"was not seen to in the {span:.1f} s from the first task to the last result"
        return unknown(f"{found.message}, or {why}")
    return found


def _held(run: Run, seen: _Seen, names: list[str], during: list[SampleEvent]) -> Result:
    uuid = seen.uuid
    if not any(uuid in sample.gpus for sample in during):
        return unknown(f"{uuid} was not sampled from the first task to the last result")
    for name in names:
        if name not in seen.held:
            why = _unmatched(run, uuid, during)
            return unknown(why) if why else fails(f"{name} held no memory on {uuid}: it did not work there")
        if not seen.held[name]:
            return unknown(f"{uuid} does not report the memory of {name}")
    return holds(f"with {' and '.join(f'{seen.held[name]} MiB held by {name}' for name in names)}")


def _busy(run: Run, seen: _Seen, during: list[SampleEvent], held: str) -> Result:
    if seen.shares:
        found = _by_process(seen.uuid, held, seen.shares)
        return holds(str(seen)) if found.state == "holds" else found
    warm = _warm(run, seen.uuid, seen.held)
    later = [sample for sample in during if seen.uuid in sample.gpus and sample.time > min(warm.values())]
    if not later:
        return unknown(f"{seen.uuid} was held for less than {_WARM_S:.0f} s, too short to see work there")
    return _by_gpu(seen.uuid, held, warm, [sample.gpus[seen.uuid] for sample in later])


def _unmatched(run: Run, uuid: str, during: list[SampleEvent]) -> str | None:
    """Return why NVML's PIDs may not be the driver's; None if they are, or the GPU did nothing.

    In a PID namespace of its own, as in a container, a driver sees other PIDs than NVML, or NVML lists none.
    """
    known = {pid for line in run.samples.lines for gpu in line.event.gpus.values() for pid in gpu.processes}
    if known & _owners(run, uuid).keys():
        return None
    began = min(line.event.time for line in run.samples.lines if line.event.worked)
    before = {
        pid for line in run.samples.lines if line.event.time < began for pid in _processes(line.event, uuid)
    }
    if {pid for sample in during for pid in _processes(sample, uuid)} - before:
        return f"none of the PIDs on {uuid} is known to the driver, as in a PID namespace of its own"
    gpus = [line.event.gpus[uuid] for line in run.samples.lines if uuid in line.event.gpus]
    used = [gpu.used_mib for gpu in gpus]
    worked = any(gpu.utilisation for gpu in gpus) or max(used) - min(used) >= _CONTEXT_MIB
    if not before and worked:
        return f"{uuid} worked or was held, and NVML lists no process there, as in a PID namespace of its own"
    return None


def _warm(run: Run, uuid: str, names: Collection[str]) -> dict[str, float]:
    """Return by PID from when the work of processes on a GPU counts, seconds since the epoch.

    A rank's counts from its first round on. A sample reaches back to the one before it, a second: so the
    first second does not count, unless what follows is too short for the driver to be sure to see it.
    """
    owners, warm = _owners(run, uuid), dict[str, float]()
    for line in run.samples.lines:
        for pid in _processes(line.event, uuid):
            if owners.get(pid) in names:
                warm.setdefault(pid, line.event.time + _WARM_S)
    for device in _reported(run, uuid):
        rounds = [line.event for line in run.ranks.rounds(device.site, device.rank)]
        if rounds and device.who in names:
            began = rounds[0].time - rounds[0].seconds
            later = (min(each.seconds, each.time - began - 1) for each in rounds if each.time > began + 1)
            warm[str(device.pid)] = began + (0 if sum(later) < _SEEN_S else 1)
    return warm


def _processes(sample: SampleEvent, uuid: str) -> dict[str, int]:
    return sample.gpus[uuid].processes if uuid in sample.gpus else {}


def _most_used(samples: Iterable[SampleEvent], uuid: str, warm: Mapping[str, float]) -> dict[str, int]:
    """Return the peak utilisation of a GPU by each process, percent by PID; empty if unknown.

    Args:
        samples: in the order of their times.
        uuid: the GPU's.
        warm: by PID, from when its work counts, seconds since the epoch: making a context is work too.
    """
    looks = [
        (sample.time, sample.gpus[uuid].process_utilisation) for sample in samples if uuid in sample.gpus
    ]
    last = max((time for time, shares in looks if shares is not None), default=0.0)
    most = {pid: 0 for pid, begin in warm.items() if last > begin}
    for time, shares in looks:
        for pid, share in (shares or {}).items():
            if pid in most and time > warm[pid]:
                most[pid] = max(share, most[pid])
    return most


def _by_process(uuid: str, held: str, shares: Mapping[str, int]) -> Result:
    """Return whether a GPU worked for all of a run who held it, and what shows it.

    Args:
        uuid: the GPU's.
        held: what they held of it, as the end of a sentence.
        shares: the most that each used, percent by name.
    """
    idle = next((who for who, share in shares.items() if not share), None)
    if not any(shares.values()):
        return _idle(uuid, held)
    if idle:
        return unknown(f"{idle} was never seen at work on {uuid}, where others were")
    return holds(f"{uuid} peaked at {max(shares.values())} % for one of them {held}")


def _by_gpu(uuid: str, held: str, pids: Collection[str], gpus: Collection[GpuSample]) -> Result:
    """Count work only while no process but ``pids`` held the GPU: utilisation by process is unknown."""
    if all(gpu.utilisation is None for gpu in gpus):
        return holds(f"{uuid}, a MIG instance whose utilisation NVML does not report, {held}")
    own = [gpu.utilisation or 0 for gpu in gpus if gpu.processes and gpu.processes.keys() <= set(pids)]
    shared = [gpu.utilisation for gpu in gpus if gpu.processes.keys() - set(pids)]
    peak = max(own, default=0)
    if peak:
        return holds(f"{uuid} peaked at {peak} % {held}")
    if any(shared):
        return unknown(f"{uuid} worked only while processes of others held it too")
    return _idle(uuid, held)


def _idle(uuid: str, held: str) -> Result:
    return fails(f"{uuid} peaked at 0 % {held}: it did not work for this run")


def _worst(used: Iterable[Result], at: Any) -> Result:
    """Return the gravest of results by GPU as one, in one sentence."""
    found = list(used)
    state = min(found, key=rank_result).state
    return Result(state, f"{'; '.join(result.message for result in found if result.state == state)}.", at)
