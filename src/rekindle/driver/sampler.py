"""What the GPUs do while a job runs: utilisation, and memory by process, once a second."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pynvml

from rekindle.records.events import GpuSample, SampleEvent


class GpuSampler:
    """Appends one JSON line a call to ``samples.jsonl``; on a host without NVML it writes nothing."""

    def __init__(self, path: Path, uuids: set[str]) -> None:
        """Watch the GPUs with these UUIDs."""
        self._path = path
        self._handles: dict[str, Any] = {}
        if uuids:
            pynvml.nvmlInit()
            self._handles = {uuid: pynvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in sorted(uuids)}

    def sample(self) -> None:
        """Take one sample: for each GPU its utilisation in percent and MiB held by each PID."""
        if not self._handles:
            return
        gpus = {}
        for uuid, handle in self._handles.items():
            with suppress(pynvml.NVMLError):  # a GPU that does not answer is missing from the sample
                gpus[uuid] = _sample(handle)
        with self._path.open("ab") as stream:
            stream.write(msgspec.json.encode(SampleEvent(time=round(time.time(), 3), gpus=gpus)) + b"\n")


def _sample(handle: Any) -> GpuSample:
    return GpuSample(
        utilisation=pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        used_mib=pynvml.nvmlDeviceGetMemoryInfo(handle).used >> 20,
        processes={
            str(process.pid): (process.usedGpuMemory or 0) >> 20
            for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        },
    )
