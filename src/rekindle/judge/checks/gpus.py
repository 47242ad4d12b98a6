"""Whether sites' trainers used their GPUs, by the driver's samples, which cover all rounds."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from statistics import fmean
from typing import Any

from rekindle.judge.check import Result, check, fails, gravity, holds, unknown, without_gpus
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, GpuSample, RoundEvent, SampleEvent

_SEEN_S = 2.0
"""Of training, in which two samples or more are taken. Seen on two H100s: two trainers took turns on a GPU in
rounds of 0.35 s, and no sample after the first second listed one of them."""

_GAP_S = 30.0
"""Samples are a second apart, 3.2 s at most in recorded runs on a host with too few cores; NVML may hang."""


@check("claim", needs=(SampleEvent, DeviceEvent), unless=without_gpus)
def gpus_used(run: Run) -> Result:
    """Samples show every assigned GPU at work for this run, and each of its trainers holding memory there.

    Samples count after a trainer reported the GPU. How much it worked is reported and not judged: a small job
    leaves a large GPU idle most of the time.
    """
    assigned = sorted({uuid for site in run.spec.sites for uuid in site.gpus})
    return worst((_used(run, uuid) for uuid in assigned), run.samples[-1])


def _used(run: Run, uuid: str) -> Result:
    devices = [line.event for line in run.of(DeviceEvent) if line.event.uuid == uuid]
    if not devices:
        return fails(f"{uuid} was reported by no trainer")
    trainers = {str(device.pid): device for device in devices}
    began = min(device.time for device in trainers.values())
    done = max((line.event.time for line in run.of(RoundEvent)), default=began)
    samples = [sample for sample in _samples(run, uuid) if sample.time >= began]
    if not samples or samples[-1].time < done:
        return unknown(f"{uuid} was not sampled until its trainers were done")
    gpus = [sample.gpus[uuid] for sample in samples]
    held = dict.fromkeys(trainers, -1)
    for gpu in gpus:
        for pid in gpu.processes.keys() & trainers.keys():
            held[pid] = max(gpu.processes[pid], held[pid])
    least = min(held, key=lambda pid: held[pid])
    who = trainers[least].who
    if held[least] < 0:
        return fails(f"{who} held no memory on {uuid}: it did not work there")
    if held[least] == 0:
        return unknown(f"{uuid} does not report the memory of {who}")
    mean = fmean(gpu.utilisation for gpu in gpus)
    clause = f"({mean:.1f} % on average) with {sum(held.values())} MiB held by its trainers"
    used = most_used(_samples(run, uuid), uuid, _warm(run, trainers))
    shares = {trainers[pid].who: share for pid, share in used.items()}
    return by_process(uuid, clause, shares) if shares else by_gpu(uuid, clause, trainers, gpus)


def _samples(run: Run, uuid: str) -> list[SampleEvent]:
    return [line.event for line in run.samples if uuid in line.event.gpus]


def _warm(run: Run, trainers: dict[str, DeviceEvent]) -> dict[str, float]:
    """Return by PID from when a sample shows a trainer's work in its rounds, seconds since the epoch.

    A sample reaches back to the one before it, a second: so the first second of the first round does not
    count, unless what follows is too short for the driver to be sure to see it.
    """
    warm = {}
    for pid, device in trainers.items():
        rounds = [line.event for line in run.rounds(device.site, device.rank)]
        began = rounds[0].time - rounds[0].seconds if rounds else device.time
        later = sum(min(event.seconds, event.time - began - 1) for event in rounds if event.time > began + 1)
        warm[pid] = began + (0 if rounds and later < _SEEN_S else 1)
    return warm


@check("ours", "example", needs=(SampleEvent,))
def sampled_all_along(run: Run) -> Iterator[Result]:
    """The driver took samples from before the first round to after the last one, of all GPUs each time.

    They have no gap; on the driver's own node, none from the run's start to its end.
    """
    rounds = [line.event for line in run.of(RoundEvent)]
    first = min((event.time - event.seconds for event in rounds), default=math.inf)
    last = max((event.time for event in rounds), default=-math.inf)
    for node in run.nodes:
        samples, where = run.samples_of(node), f" of {node}" if node else ""
        times = [line.event.time for line in samples]
        if not times:
            yield unknown(f"The driver took no samples{where}.")
        elif min(times) > first or max(times) < last:
            yield unknown(f"The samples{where} do not reach from before the first round to after the last.")
        if node == run.nodes[0] and run.ended and run.started is not None:
            times = [run.started, *times, run.started + run.ended.duration_s]
        gap = max((after - before for before, after in pairwise(times)), default=0.0)
        if gap > _GAP_S and not (run.ended and run.ended.suspensions):
            yield unknown(f"The driver took no sample{where} for {gap:.0f} s.")
        for line in samples:
            if missing := run.spec.gpus_on(node) - line.event.gpus.keys() - line.event.unanswered.keys():
                yield unknown(f"A sample lacks {min(missing)}.", line)


def most_used(samples: Iterable[SampleEvent], uuid: str, warm: Mapping[str, float]) -> dict[str, int]:
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


def by_process(uuid: str, held: str, shares: Mapping[str, int]) -> Result:
    """Return whether a GPU worked for all of a run who held it, and what shows it.

    Args:
        uuid: the GPU's.
        held: what they held of it, as the end of a sentence.
        shares: the most that each used, percent by name.
    """
    idle = next((who for who, share in shares.items() if not share), None)
    if not any(shares.values()):
        return fails(f"{uuid} peaked at 0 % {held}: it did not work for this run")
    if idle:
        return unknown(f"{idle} was never seen at work on {uuid}, where others were")
    return holds(f"{uuid} peaked at {max(shares.values())} % for one of them {held}")


def by_gpu(uuid: str, held: str, pids: Collection[str], gpus: Collection[GpuSample]) -> Result:
    """Count work only while no process but ``pids`` held the GPU: utilisation by process is unknown."""
    own = [gpu.utilisation for gpu in gpus if gpu.processes and gpu.processes.keys() <= set(pids)]
    shared = [gpu.utilisation for gpu in gpus if gpu.processes.keys() - set(pids)]
    peak = max(own, default=0)
    if peak:
        return holds(f"{uuid} peaked at {peak} % {held}")
    if any(shared):
        return unknown(f"{uuid} worked only while processes of others held it too")
    return fails(f"{uuid} peaked at 0 % {held}: it did not work for this run")


def worst(used: Iterable[Result], at: Any) -> Result:
    """Return the gravest of results by GPU as one, in one sentence."""
    found = list(used)
    state = min(found, key=gravity).state
    return Result(state, f"{'; '.join(result.message for result in found if result.state == state)}.", at)
