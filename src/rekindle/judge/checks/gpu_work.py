"""What the driver's samples show of one GPU's work, by process or, where NVML tells none, in all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rekindle.judge.check import GRAVITY, Result, fails, holds, unknown
from rekindle.records.events import GpuSample, SampleEvent


def most_used(samples: Iterable[SampleEvent], uuid: str, warm: Mapping[str, float]) -> dict[str, int]:
    """Return the most of a GPU that each process was seen to use, percent by PID; empty if untold.

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
    """Count work only while no process but ``pids`` held the GPU, as what a process did is not told."""
    own = [gpu.utilisation for gpu in gpus if gpu.processes and gpu.processes.keys() <= set(pids)]
    shared = [gpu.utilisation for gpu in gpus if gpu.processes.keys() - set(pids)]
    peak = max(own, default=0)
    if peak:
        return holds(f"{uuid} peaked at {peak} % {held}")
    if any(shared):
        return unknown(f"{uuid} worked only while processes of others held it too")
    return fails(f"{uuid} peaked at 0 % {held}: it did not work for this run")


def worst(used: Iterable[Result], at: Any) -> Result:
    """Return what the gravest of results by GPU come to, in one sentence."""
    found = list(used)
    state = min((result.state for result in found), key=GRAVITY.index)
    return Result(state, f"{'; '.join(result.says for result in found if result.state == state)}.", at)
