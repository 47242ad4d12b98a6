# SPDX-License-Identifier: Apache-2.0
"""What a job takes while it runs: GPUs' utilisation, memory and errors, processes' memory and CPU time."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pynvml

from rekindle.host import files
from rekindle.records.events import GpuSample, MemberWork, SampleEvent

from .snapshot import Process, Snapshot
from .xids import Xids


class Sampler:
    """Appends one JSON line per call to ``samples.jsonl``."""

    def __init__(self, path: Path, uuids: set[str], nonce: str | None = None) -> None:
        """Watch the GPUs with these UUIDs; without any, NVML is not asked for. ``nonce`` is the run's."""
        self._path, self._uuids, self._nonce = path, sorted(uuids), nonce
        self._handles: dict[str, Any] = {}
        self._seen = time.time_ns() // 1000
        if uuids:
            with suppress(pynvml.NVMLError):
                pynvml.nvmlInit()
        for uuid in self._uuids:
            with suppress(pynvml.NVMLError):
                self._handles[uuid] = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        self._xids, self._work = Xids(self._handles), WorkTotals()

    def sample(self, now: Snapshot) -> dict[str, GpuSample]:
        """Take one sample of each GPU, and write it down with what the processes of ``now`` took.

        Returns:
            The GPUs that answered, by UUID.
        """
        gpus, (xids, by) = {}, self._xids.read_new()
        for uuid, handle in self._handles.items():
            with suppress(pynvml.NVMLError):
                gpus[uuid] = _sample(handle, self._seen, xids.get(uuid), by.get(uuid, ()))
        self._seen = time.time_ns() // 1000
        event = SampleEvent(
            time=round(time.time(), 3),
            nonce=self._nonce,
            gpus=gpus,
            unanswered={uuid: xids.get(uuid) for uuid in self._uuids if uuid not in gpus},
            memory_mib=now.peaks_mib,
            worked=self._work.add_up(now.processes),
            network=_network(),
        )
        with files.open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as stream:
            stream.write(msgspec.json.encode(event) + b"\n")
        return gpus


def _network() -> tuple[int, int]:
    counted = psutil.net_io_counters(pernic=True)
    cards = [card for name, card in counted.items() if name != "lo"]
    return sum(card.bytes_recv for card in cards), sum(card.bytes_sent for card in cards)


def _sample(handle: Any, since_us: int, xids: tuple[int, ...] | None, by: tuple[str, ...]) -> GpuSample:
    rates = _rates(handle)
    return GpuSample(
        utilisation=rates.gpu if rates else None,
        memory_utilisation=rates.memory if rates else None,
        used_mib=pynvml.nvmlDeviceGetMemoryInfo(handle).used >> 20,
        processes={
            str(process.pid): (process.usedGpuMemory or 0) >> 20
            for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        },
        process_utilisation=_by_process(handle, since_us),
        xids=xids,
        xids_by=by,
        ecc_uncorrected=_uncorrected(handle),
    )


def _rates(handle: Any) -> Any:
    """Return the shares of time in which it and its memory worked; None of a MIG instance."""
    try:
        return pynvml.nvmlDeviceGetUtilizationRates(handle)
    except pynvml.NVMLError_NotSupported:
        return None


def _uncorrected(handle: Any) -> int | None:
    kind, since = pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
    try:
        return int(pynvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))
    except pynvml.NVMLError:
        return None


def _by_process(handle: Any, since_us: int) -> dict[str, int] | None:
    """Return each process's share of the GPU's multiprocessors, percent; none worked if none is listed."""
    most: dict[str, int] = {}
    try:
        for sample in pynvml.nvmlDeviceGetProcessUtilization(handle, since_us):
            most[str(sample.pid)] = max(sample.smUtil, most.get(str(sample.pid), 0))
    except pynvml.NVMLError_NotFound:
        return most
    except pynvml.NVMLError:
        return None
    return most


class WorkTotals:
    """Adds up the CPU time of each member's processes."""

    def __init__(self) -> None:
        """Start without processes."""
        self._seen: dict[tuple[int, float], tuple[str, Process]] = {}

    def add_up(self, processes: Iterable[Process]) -> dict[str, MemberWork]:
        """Return what each member's processes took until now, by the member's name: the server or a site.

        A process belongs to the member that it names, or to that of its nearest ancestor that names one. It
        stays with its member after its parent has ended.
        """
        present = {process.pid: process for process in processes}
        for process in present.values():
            if member := self._member(process, present):
                self._seen[process.pid, process.born] = member, process
        by_member: dict[str, list[Process]] = {}
        for member, process in self._seen.values():
            by_member.setdefault(member, []).append(process)
        return {member: _worked(own, present) for member, own in sorted(by_member.items())}

    def _member(self, process: Process | None, present: dict[int, Process]) -> str | None:
        above = {0}
        while process is not None and process.pid not in above:
            known, _ = self._seen.get((process.pid, process.born), (None, None))
            if member := process.nvflare or process.site or known:
                return member
            above.add(process.pid)
            process = present.get(process.parent)
        return None


def _worked(processes: list[Process], present: dict[int, Process]) -> MemberWork:
    others = [process.cpu_s for process in processes if process.nvflare is None]
    alive = [process for process in processes if present.get(process.pid) is process]
    return MemberWork(
        nvflare_s=round(sum(process.cpu_s for process in processes if process.nvflare is not None), 3),
        others_s=round(sum(others), 3) if others else None,
        pids=tuple(sorted(process.pid for process in alive)),
    )
