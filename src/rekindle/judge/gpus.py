"""The claim on GPUs, from the driver's samples."""

from __future__ import annotations

from typing import Any

from rekindle.records import Evidence
from rekindle.records.events import DeviceEvent, RoundEvent

from .run import Run
from .validators import validator


@validator
def gpus_busy(run: Run, claim: str, options: dict[str, Any]) -> Evidence | None:
    """Samples show every assigned GPU at work for this run, and each of its trainers holding memory there.

    It counts what was sampled after a trainer reported the GPU, and work only while no other process held it.
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
    held = {pid: max((one.processes.get(pid, -1) for one in gpus), default=-1) for pid in trainers}
    for pid, mib in held.items():
        who = f"{trainers[pid].site} rank {trainers[pid].rank}"
        if mib <= 0:
            return (
                (None, f"{uuid} does not tell the memory of {who}")
                if mib == 0
                else (
                    False,
                    f"{who} held no memory on {uuid}: it did not work there",
                )
            )
    own = [one.utilisation for one in gpus if one.processes and one.processes.keys() <= trainers.keys()]
    shared = [one.utilisation for one in gpus if one.processes.keys() - trainers.keys()]
    peak = max(own, default=0)
    said = f"{uuid} peaked at {peak} % with {sum(held.values())} MiB held by its trainers"
    if peak:
        return True, said
    if any(shared):
        return None, f"{uuid} worked only while processes of others held it too"
    return False, f"{said}: it did not work for this run"
