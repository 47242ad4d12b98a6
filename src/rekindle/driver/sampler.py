"""What a job takes while it runs: GPUs' utilisation, their memory by process, and NVFlare's host memory."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pynvml

from rekindle import files
from rekindle.records.events import GpuSample, SampleEvent

from .memory import peaks


class Sampler:
    """Appends one JSON line a call to ``samples.jsonl``."""

    def __init__(self, path: Path, uuids: set[str], nonce: str | None = None) -> None:
        """Watch the GPUs with these UUIDs; without any, NVML is not asked for. ``nonce`` is the run's."""
        self._path, self._nonce = path, nonce
        self._handles: dict[str, Any] = {}
        self._seen = time.time_ns() // 1000
        if uuids:
            pynvml.nvmlInit()
            self._handles = {uuid: pynvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in sorted(uuids)}

    def sample(self) -> dict[str, GpuSample]:
        """Take one sample: each GPU's utilisation in percent and MiB by PID, and NVFlare's own MiB.

        Returns:
            The GPUs that answered, by UUID.
        """
        gpus = {}
        for uuid, handle in self._handles.items():
            with suppress(pynvml.NVMLError):  # a GPU that does not answer is missing from the sample
                gpus[uuid] = _sample(handle, self._seen)
        self._seen = time.time_ns() // 1000
        event = SampleEvent(time=round(time.time(), 3), nonce=self._nonce, gpus=gpus, memory_mib=peaks())
        with files.opened(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as stream:
            stream.write(msgspec.json.encode(event) + b"\n")
        return gpus


def _sample(handle: Any, since_us: int) -> GpuSample:
    rates = pynvml.nvmlDeviceGetUtilizationRates(handle)
    return GpuSample(
        utilisation=rates.gpu,
        memory_utilisation=rates.memory,
        used_mib=pynvml.nvmlDeviceGetMemoryInfo(handle).used >> 20,
        processes={
            str(process.pid): (process.usedGpuMemory or 0) >> 20
            for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        },
        process_utilisation=_by_process(handle, since_us),
    )


def _by_process(handle: Any, since_us: int) -> dict[str, int] | None:
    """Return each process's share of the GPU's multiprocessors, percent; none worked if none is listed."""
    most: dict[str, int] = {}
    try:
        for one in pynvml.nvmlDeviceGetProcessUtilization(handle, since_us):
            most[str(one.pid)] = max(one.smUtil, most.get(str(one.pid), 0))
    except pynvml.NVMLError_NotFound:
        return most
    except pynvml.NVMLError:
        return None
    return most
