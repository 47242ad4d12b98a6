# SPDX-License-Identifier: Apache-2.0
"""One process for one GPU among those that measure: how they meet, and how each takes the time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from rekindle.host.instances import is_instance

SERIES = 5
"""Repetitions of each figure."""

Figure = dict[str, Any]


class Rank:
    """One GPU among the others."""

    def __init__(self, folder: Path) -> None:
        """Join the others."""
        self.number, self.count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.uuids = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
        place = self.number % len(self.uuids)
        self.own, self.device = self.uuids[place], torch.device("cuda", place)
        self.joined = len(self.uuids) == self.count and not is_instance(self.own)
        """Whether NCCL joins these GPUs, and each process sees all."""
        torch.cuda.set_device(self.device)
        self.numa = _bind(self.device)
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if self.joined else "gloo",
            init_method=f"file://{folder / 'rendezvous'}",
            rank=self.number,
            world_size=self.count,
            device_id=self.device if self.joined else None,
        )
        self.figures: list[Figure] = []

    def meet(self) -> None:
        """Wait for the others, with no work on any GPU."""
        torch.cuda.synchronize()
        dist.all_reduce(torch.zeros(1))

    def note(self, name: str, series: list[float], unit: str, message: str, **more: Any) -> None:
        """Note a figure, by default of this GPU."""
        value = median(series) if series else None
        figure = {
            "name": name,
            "gpu": self.own,
            "value": value,
            "unit": unit,
            "series": series,
        }
        self.figures.append(figure | {"message": message} | more)


def _bind(device: torch.device) -> str:
    """Run on the cores of the GPU's own NUMA node, so that pinned memory lies there; return its name."""
    properties = torch.cuda.get_device_properties(device)
    bus = f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    try:
        node = int(Path(f"/sys/bus/pci/devices/{bus}/numa_node").read_text())
        cores = Path(f"/sys/devices/system/node/node{node}/cpulist").read_text().strip()
        near = {
            core
            for part in cores.split(",")
            for core in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
        }
        os.sched_setaffinity(0, near & os.sched_getaffinity(0) or near)
    except (OSError, ValueError):
        return "wherever it lies, as its NUMA node is not known"
    return f"on its NUMA node {node}"


def seconds_of(work: Callable[[], object], times: int, device: torch.device) -> float:
    """Return the mean seconds of ``work`` on a GPU's own clock."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(device):
        begin.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
    return begin.elapsed_time(end) / 1e3 / times


def series_of(work: Callable[[], object], times: int, device: torch.device) -> list[float]:
    seconds_of(work, max(1, times // 2), device)
    return [seconds_of(work, times, device) for _ in range(SERIES)]
