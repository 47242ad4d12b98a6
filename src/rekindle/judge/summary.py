# SPDX-License-Identifier: Apache-2.0
"""What a verdict reports of a run beside its claims: devices, rounds and final metrics."""

from collections import Counter
from collections.abc import Iterator
from statistics import mean

from rekindle.records import Device, JobRound
from rekindle.records.events import DeviceEvent, RoundEvent, TaskEvent

from .run import Run
from .tasks import VALIDATES

_Who = tuple[str | None, str]
"""A GPU's UUID, and a PID there."""


def summarise_devices(run: Run) -> tuple[Device, ...]:
    """Return what each rank ran on, with what the driver's samples show of it there.

    Where ranks report nothing, what the sites' processes held, in the order of the GPUs; for a run that
    measured its host, the GPUs that it was given.
    """
    utilisation: dict[_Who, list[int]] = {}
    held: dict[_Who, int] = {}
    for line in run.samples.lines:
        for uuid, gpu in line.event.gpus.items():
            for pid, mib in gpu.processes.items():
                if gpu.utilisation is not None:
                    utilisation.setdefault((uuid, pid), []).append(gpu.utilisation)
                held[uuid, pid] = max(mib, held.get((uuid, pid), mib))
    means = {who: round(mean(percents), 1) for who, percents in utilisation.items()}
    names = {gpu.uuid: gpu.name for gpu in run.spec.gpus}

    def on(site: str, rank: int, who: _Who, device: str = "cuda", name: str | None = None) -> Device:
        return Device(
            site=site,
            rank=rank,
            device=device,
            uuid=who[0],
            name=names.get(who[0] or "") or name,
            mean_utilisation=means.get(who),
            peak_memory_mib=held.get(who),
        )

    if run.find(DeviceEvent):
        events = (line.event for line in run.find(DeviceEvent))
        return tuple(on(of.site, of.rank, (of.uuid, str(of.pid)), of.device, of.name) for of in events)
    found: list[Device] = []
    for site in run.spec.sites:
        mine: list[_Who] = [(uuid, "") for uuid in site.gpus]
        if run.spec.job.federated:
            order = [who for gpu in run.spec.gpus for who in sorted(held) if who[0] == gpu.uuid]
            mine = [who for who in order if run.samples.owners_on(who[0] or "").get(who[1]) == site.name]
        found += (on(site.name, rank, who) for rank, who in enumerate(mine))
    return tuple(found)


def summarise_rounds(run: Run) -> tuple[JobRound, ...]:
    """Return each site's rounds as its rank 0 reported them, with the samples of all its ranks.

    Where ranks report nothing, each site's results as the server got them.
    """
    if not run.find(RoundEvent):
        return tuple(_results(run))
    ranks, late = {site.name: site.ranks for site in run.sites.all}, _late(run)
    samples: Counter[tuple[str, int]] = Counter()
    for event in (line.event for line in run.find(RoundEvent)):
        if 0 <= event.rank < ranks.get(event.site, 0):
            samples[event.site, event.round] += event.samples
    return tuple(
        JobRound(
            round=line.event.round,
            site=site.name,
            loss=line.event.losses[-1] if line.event.losses else None,
            metrics=_finite(line.event.metrics),
            samples=samples[site.name, line.event.round],
            seconds=line.event.seconds,
            bytes_in=line.event.bytes_in,
            bytes_out=line.event.bytes_out,
            late_s=late.get((site.name, line.event.round)),
        )
        for site in run.sites.all
        for line in run.ranks.rounds(site.name, 0)
    )


def _results(run: Run) -> Iterator[JobRound]:
    counts, late = Counter[str](), _late(run)
    for event in sorted((line.event for line in run.find(TaskEvent)), key=lambda event: event.time):
        number = counts[event.site] if event.round is None else event.round
        counts[event.site] += 1
        yield JobRound(
            round=number,
            site=event.site,
            loss=None,
            metrics={} if event.task == VALIDATES else _finite(event.metrics),  # those are of any model
            samples=0,
            seconds=0.0,
            bytes_out=event.bytes,
            late_s=late.get((event.site, number)),
        )


def _late(run: Run) -> dict[tuple[str, int], float]:
    """Return by site and round how long after the first result of that round its own came, seconds."""
    came = [(line.event.round, line.event) for line in run.training.models if line.event.round is not None]
    first: dict[int, float] = {}
    for number, event in came:
        first[number] = min(event.time, first.get(number, event.time))
    return {(event.site, number): event.time - first[number] for number, event in came}


def find_final_metrics(run: Run) -> dict[str, float]:
    """Return the metrics of the final global model that are finite."""
    return _finite(run.final.event.metrics) if run.final else {}


def _finite(metrics: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if value is not None}


def find_peaks(run: Run) -> dict[str, int]:
    """Return the peak of each of NVFlare's processes, by name."""
    peaks: dict[str, int] = {}
    for line in run.samples.lines:
        for name, mib in line.event.memory_mib.items():
            peaks[name] = max(mib, peaks.get(name, 0))
    return peaks
