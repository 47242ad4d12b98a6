"""The claim on GPUs, from the driver's samples."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from rekindle.judge.answer import NO_GPU, Answer
from rekindle.judge.gpu_work import by_gpu, by_process, most_used
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, RoundEvent, SampleEvent

from .registry import validator


@validator("spec", "evidence", "samples")
def gpus_used(run: Run, options: dict[str, Any]) -> Answer:
    """Samples show every assigned GPU at work for this run, and each of its trainers holding memory there.

    It counts what was sampled after a trainer reported the GPU. How much it worked is said, and is no matter:
    a small job leaves a large GPU idle for most of the time.
    """
    assigned = sorted({uuid for site in run.spec.sites for uuid in site.gpus})
    if not assigned:
        return NO_GPU
    if not any(line.event.gpus for line in run.samples):
        return Answer(None, "The driver took no GPU samples.")
    if not run.of(DeviceEvent):
        return Answer(None, "No trainer reported its device.")
    used = [_used(run, uuid) for uuid in assigned]
    worst = min((holds for holds, _ in used), key=[False, None, True].index)
    says = "; ".join(clause for holds, clause in used if holds is worst)
    return Answer(worst, f"{says}.", run.samples[-1])


def _used(run: Run, uuid: str) -> tuple[bool | None, str]:
    """Return whether the run's trainers used a GPU, and what shows it."""
    devices = [line.event for line in run.of(DeviceEvent) if line.event.uuid == uuid]
    if not devices:
        return False, f"{uuid} was reported by no trainer"
    trainers = {str(device.pid): device for device in devices}
    began = min(device.time for device in trainers.values())
    done = max((line.event.time for line in run.of(RoundEvent)), default=began)
    samples = [sample for sample in _samples(run, uuid) if sample.time >= began]
    if not samples or samples[-1].time < done:
        return None, f"{uuid} was not sampled until its trainers were done"
    gpus = [sample.gpus[uuid] for sample in samples]
    held = dict.fromkeys(trainers, -1)
    for gpu in gpus:
        for pid in gpu.processes.keys() & trainers.keys():
            held[pid] = max(gpu.processes[pid], held[pid])
    least = min(held, key=lambda pid: held[pid])
    who = trainers[least].who
    if held[least] < 0:
        return False, f"{who} held no memory on {uuid}: it did not work there"
    if held[least] == 0:
        return None, f"{uuid} does not tell the memory of {who}"
    mean = fmean(gpu.utilisation for gpu in gpus)
    clause = f"({mean:.1f} % on average) with {sum(held.values())} MiB held by its trainers"
    used = most_used(_samples(run, uuid), uuid, _warm(run, trainers))
    shares = {trainers[pid].who: share for pid, share in used.items()}
    return by_process(uuid, clause, shares) if shares else by_gpu(uuid, clause, trainers, gpus)


def _samples(run: Run, uuid: str) -> list[SampleEvent]:
    return [line.event for line in run.samples if uuid in line.event.gpus]


def _warm(run: Run, trainers: dict[str, DeviceEvent]) -> dict[str, float]:
    """Return by PID when each trainer was past the first second of its first round, seconds since the epoch.

    A sample reaches back to the one before it.
    """
    warm = {}
    for pid, device in trainers.items():
        rounds = [line.event for line in run.rounds(device.site, device.rank)[:1]]
        warm[pid] = (rounds[0].time - rounds[0].seconds if rounds else device.time) + 1
    return warm
