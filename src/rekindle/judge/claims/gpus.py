"""The claim on GPUs, from the driver's samples."""

from __future__ import annotations

from typing import Any

from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, GpuSample, RoundEvent, SampleEvent

from .registry import validator


@validator("spec", "evidence", "samples")
def gpus_busy(run: Run, options: dict[str, Any]) -> Answer | None:
    """Samples show every assigned GPU at work for this run, and each of its trainers holding memory there.

    It counts what was sampled after a trainer reported the GPU.
    """
    assigned = sorted({uuid for site in run.spec.sites for uuid in site.gpus})
    if not assigned:
        return None
    if not any(line.event.gpus for line in run.samples):
        return Answer(None, "The driver took no GPU samples.")
    if not run.of(DeviceEvent):
        return Answer(None, "No trainer reported its device.")
    used = [_used(run, uuid) for uuid in assigned]
    worst = min((holds for holds, _ in used), key=[False, None, True].index)
    says = "; ".join(said for holds, said in used if holds is worst)
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
    who = f"{trainers[least].site} rank {trainers[least].rank}"
    if held[least] < 0:
        return False, f"{who} held no memory on {uuid}: it did not work there"
    if held[least] == 0:
        return None, f"{uuid} does not tell the memory of {who}"
    said = f"with {sum(held.values())} MiB held by its trainers"
    shares = _shares(run, uuid, trainers)
    return _by_process(uuid, said, trainers, shares) if shares else _by_gpu(uuid, said, trainers, gpus)


def _samples(run: Run, uuid: str) -> list[SampleEvent]:
    return [line.event for line in run.samples if uuid in line.event.gpus]


def _shares(run: Run, uuid: str, trainers: dict[str, DeviceEvent]) -> dict[str, int]:
    """Return the most of a GPU that each trainer was seen to use as it trained, percent; empty if untold.

    A sample reaches back to the one before it, so the first second is left out: making a context is work too.
    """
    warm = {}
    for pid, device in trainers.items():
        rounds = [line.event for line in run.rounds(device.site, device.rank)[:1]]
        warm[pid] = (rounds[0].time - rounds[0].seconds if rounds else device.time) + 1
    told = [(sample.time, sample.gpus[uuid].process_utilisation) for sample in _samples(run, uuid)]
    last = max((time for time, shares in told if shares is not None), default=0.0)
    most = {pid: 0 for pid, begin in warm.items() if last > begin}
    for time, shares in told:
        for pid, share in (shares or {}).items():
            if pid in most and time > warm[pid]:
                most[pid] = max(share, most[pid])
    return most


def _by_process(
    uuid: str, said: str, trainers: dict[str, DeviceEvent], shares: dict[str, int]
) -> tuple[bool | None, str]:
    idle = next((trainers[pid] for pid, share in shares.items() if not share), None)
    if not any(shares.values()):
        return False, f"{uuid} peaked at 0 % {said}: it did not work for this run"
    if idle:
        return None, f"{idle.site} rank {idle.rank} was never seen at work on {uuid}, where others were"
    return True, f"{uuid} peaked at {max(shares.values())} % for one of them {said}"


def _by_gpu(
    uuid: str, said: str, trainers: dict[str, DeviceEvent], gpus: list[GpuSample]
) -> tuple[bool | None, str]:
    """Count work only while no other process held the GPU, as what a process did is not told."""
    own = [gpu.utilisation for gpu in gpus if gpu.processes and gpu.processes.keys() <= trainers.keys()]
    shared = [gpu.utilisation for gpu in gpus if gpu.processes.keys() - trainers.keys()]
    peak = max(own, default=0)
    if peak:
        return True, f"{uuid} peaked at {peak} % {said}"
    if any(shared):
        return None, f"{uuid} worked only while processes of others held it too"
    return False, f"{uuid} peaked at 0 % {said}: it did not work for this run"
