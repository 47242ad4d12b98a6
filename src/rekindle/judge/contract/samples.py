"""That the driver's samples are of this run, of its GPUs, and figures that NVML gives."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from rekindle.host import folders
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, GpuSample, RoundEvent, SampleEvent, Worked

from .registry import ANY, Doubt, rule, without_gpus

_MOST_MIB = 1 << 24
"""16 TiB: more than any GPU, or host, has."""
_MOST_S = 1e9
"""A thousand cores for more than a week."""
_FALL = 0.95
"""The kernel counts pages by processor and adds them up now and then, so that a peak may fall by a few."""
_PERIOD_S = 1.0
"""Between two samples; one that began before the round may be told in it."""


def _unsampled(run: Run) -> str | None:
    """Exempt runs of spec/1 on CPU, which were not sampled."""
    return without_gpus(run) if run.version == 1 else None


@rule(*ANY, needs=(SampleEvent,), exempt=_unsampled)
def samples_are_sound(run: Run) -> Iterator[Doubt]:
    """Samples are of the GPUs that the run was given, with percents of 0 to 100 and memory that they have."""
    given = {folders.samples(node): run.spec.gpus_on(node) for node in run.nodes}
    names = set(run.members)
    totals = {gpu.uuid: gpu.memory_mib for gpu in run.spec.gpus}
    for line in run.samples:
        for uuid, gpu in line.event.gpus.items():
            if uuid not in given.get(line.file, ()):
                yield Doubt(f"A sample has {uuid}, which the run was not given.", line)
            for what in _flaws(gpu, totals.get(uuid) or _MOST_MIB):
                yield Doubt(f"A sample has {what} of {uuid}.", line)
        for name, mib in line.event.memory_mib.items():
            if name not in names:
                yield Doubt(f"A sample has memory of {name}, which the run does not have.", line)
            if not 0 <= mib <= _MOST_MIB:
                yield Doubt(f"A sample has {mib} MiB of {name}.", line)
        for name, worked in line.event.worked.items():
            if name not in names:
                yield Doubt(f"A sample has processes of {name}, which the run does not have.", line)
            for what in _excesses(worked):
                yield Doubt(f"A sample has {what} of {name}.", line)


def _excesses(worked: Worked) -> Iterator[str]:
    for seconds in (worked.nvflare_s, worked.others_s or 0.0):
        if not 0 <= seconds <= _MOST_S:
            yield f"{seconds} s of CPU time"
    if worked.written_bytes < 0:
        yield f"{worked.written_bytes} bytes written"
    if worked.sockets < 0:
        yield f"{worked.sockets} sockets"


def _flaws(gpu: GpuSample, total_mib: int) -> Iterator[str]:
    rates = [gpu.utilisation, gpu.memory_utilisation or 0, *(gpu.process_utilisation or {}).values()]
    for rate in rates:
        if not 0 <= rate <= 100:
            yield f"{rate} %"
    for mib in (gpu.used_mib, *gpu.processes.values()):
        if not 0 <= mib <= total_mib:
            yield f"{mib} MiB"
    if sum(gpu.processes.values()) > gpu.used_mib:
        yield f"{sum(gpu.processes.values())} MiB held by processes and {gpu.used_mib} MiB used"
    for pid in (*gpu.processes, *(gpu.process_utilisation or {})):
        if not pid.isascii() or not pid.isdigit():
            yield f"a process {pid[:20]!r}"


@rule(exempt=_unsampled)
def sampled_all_along(run: Run) -> Iterator[Doubt]:
    """The driver took samples from before the first round to after the last one, of all GPUs each time."""
    rounds = [line for site in run.spec.sites for line in run.rounds(site.name, 0)]
    for node in run.nodes:
        samples, where = run.samples_of(node), f" of {node}" if node else ""
        times = [line.event.time for line in samples]
        if not times:
            yield Doubt(f"The driver took no samples{where}.")
        elif rounds:
            first = min(line.event.time - line.event.seconds for line in rounds)
            last = max(line.event.time for line in rounds)
            if min(times) > first or max(times) < last:
                says = f"The samples{where} do not reach from before the first round to after the last."
                yield Doubt(says)
        if len(set(times)) < len(times):
            yield Doubt(f"Two samples{where} are of one moment.")
        for line in samples:
            if missing := run.spec.gpus_on(node) - line.event.gpus.keys() - line.event.unanswered.keys():
                yield Doubt(f"A sample lacks {min(missing)}.", line)


@rule(needs=(DeviceEvent, RoundEvent, SampleEvent), exempt=without_gpus)
def trainers_hold_memory_as_they_train(run: Run) -> Iterator[Doubt]:
    """While a rank trains on a GPU, the samples taken meanwhile show its process there."""
    for line in run.of(DeviceEvent):
        event = line.event
        if event.uuid is None:
            continue
        samples = run.samples_for(event.uuid)
        times = [sample.event.time for sample in samples]
        for trained in run.rounds(event.site, event.rank):
            begin = bisect_left(times, trained.event.time - trained.event.seconds + _PERIOD_S)
            end = bisect_right(times, trained.event.time)
            seen = [
                sample.event.gpus[event.uuid]
                for sample in samples[begin:end]
                if event.uuid in sample.event.gpus
            ]
            if seen and not any(str(event.pid) in gpu.processes for gpu in seen):
                says = f"{event.who} held no memory on {event.uuid} in round {trained.event.round}."
                yield Doubt(says, trained)


@rule(needs=(DeviceEvent, SampleEvent), exempt=without_gpus)
def no_gpu_held_before_the_start(run: Run) -> Iterator[Doubt]:
    """No trainer held a GPU before its site's client had launched it."""
    launched: dict[str, float] = {}
    for site in run.spec.sites:
        for record in run.records(site.name):
            if run.wording.launches in record.message:
                launched.setdefault(site.name, record.time - run.zone(site.name))
    trainers = {(folders.samples(node), str(pid)): site for (site, _), (node, pid) in run.processes.items()}
    for line in run.samples:
        for pid in (pid for gpu in line.event.gpus.values() for pid in gpu.processes):
            site_of = trainers.get((line.file, pid), "")
            start = launched.get(site_of)
            if start is not None and line.event.time < start - _PERIOD_S:
                yield Doubt(f"Process {pid} held a GPU before {site_of} had launched it.", line)


@rule(needs=(RoundEvent,))
def peaks_last_until_the_end_of_training(run: Run) -> Iterator[Doubt]:
    """The most memory so far of the server and of each client gets no less while the sites train."""
    last = max((line.event.time for site in run.spec.sites for line in run.rounds(site.name, 0)), default=0.0)
    most: dict[str, int] = {}
    for line in run.samples:
        if line.event.time > last:
            return
        for name, mib in line.event.memory_mib.items():
            before = most.get(name, 0)
            if mib < _FALL * before:
                yield Doubt(f"The peak of {name} falls from {before} to {mib} MiB.", line)
            most[name] = max(mib, before)
