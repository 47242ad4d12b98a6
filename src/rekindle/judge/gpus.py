"""The claim on GPUs, from the driver's samples."""

from __future__ import annotations

from typing import Any

from rekindle.records import Evidence
from rekindle.records.events import DeviceEvent, GpuSample, RoundEvent

from .run import Run
from .validators import validator


@validator
def gpus_busy(run: Run, claim: str, options: dict[str, Any]) -> Evidence | None:
    """Samples show every assigned GPU at work for this run, and each of its trainers holding memory there.

    It counts what was sampled after a trainer reported the GPU.
    """
    assigned = sorted({uuid for site in run.spec.sites for uuid in site.gpus})
    if not assigned:
        return None
    if not any(one.event.gpus for one in run.samples):
        return run.evidence(claim, None, "The driver took no GPU samples.")
    if not run.of(DeviceEvent):
        return run.evidence(claim, None, "No trainer reported its device.")
    told = [_used(run, uuid) for uuid in assigned]
    holds = next((one for one in (False, None) if one in {held for held, _ in told}), True)
    says = "; ".join(said for held, said in told if held is holds)
    return run.evidence(claim, holds, f"{says}.", run.samples[-1])


def _used(run: Run, uuid: str) -> tuple[bool | None, str]:
    """Return whether the run's trainers used a GPU, and what shows it."""
    trainers = {str(one.event.pid): one.event for one in run.of(DeviceEvent) if one.event.uuid == uuid}
    if not trainers:
        return False, f"{uuid} was reported by no trainer"
    began = min(one.time for one in trainers.values())
    seen = [one.event for one in run.samples if uuid in one.event.gpus and one.event.time >= began]
    trained = max((one.event.time for one in run.of(RoundEvent)), default=began)
    if not seen or seen[-1].time < trained:
        return None, f"{uuid} was not sampled until its trainers were done"
    gpus = [one.gpus[uuid] for one in seen]
    held = dict.fromkeys(trainers, -1)
    for pid, mib in (pair for one in gpus for pair in one.processes.items() if pair[0] in held):
        held[pid] = max(mib, held[pid])
    least = min(held, key=lambda pid: held[pid])
    who = f"{trainers[least].site} rank {trainers[least].rank}"
    if held[least] < 0:
        return False, f"{who} held no memory on {uuid}: it did not work there"
    if held[least] == 0:
        return None, f"{uuid} does not tell the memory of {who}"
    said = f"with {sum(held.values())} MiB held by its trainers"
    told = _shares(run, uuid, trainers)
    return _by_process(uuid, said, trainers, told) if told else _by_gpu(uuid, said, trainers, gpus)


def _shares(run: Run, uuid: str, trainers: dict[str, DeviceEvent]) -> dict[str, int]:
    """Return the most of a GPU that each trainer was seen to use as it trained, percent; empty if untold.

    A sample reaches back to the one before it, so the first second is left out: making a context is work too.
    """
    begun = {}
    for pid, device in trainers.items():
        rounds = [line.event for line in run.rounds(device.site, device.rank)[:1]]
        begun[pid] = (rounds[0].time - rounds[0].seconds if rounds else device.time) + 1
    samples = [one.event for one in run.samples if uuid in one.event.gpus]
    told = [
        (one.time, shares) for one in samples if (shares := one.gpus[uuid].process_utilisation) is not None
    ]
    last = max((time for time, _ in told), default=0.0)
    most = {pid: 0 for pid, begin in begun.items() if last > begin}
    for time, pid, share in ((time, *pair) for time, shares in told for pair in shares.items()):
        if pid in most and time > begun[pid]:
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
    own = [one.utilisation for one in gpus if one.processes and one.processes.keys() <= trainers.keys()]
    shared = [one.utilisation for one in gpus if one.processes.keys() - trainers.keys()]
    peak = max(own, default=0)
    if peak:
        return True, f"{uuid} peaked at {peak} % {said}"
    if any(shared):
        return None, f"{uuid} worked only while processes of others held it too"
    return False, f"{uuid} peaked at 0 % {said}: it did not work for this run"
