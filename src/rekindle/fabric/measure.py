# SPDX-License-Identifier: Apache-2.0
"""One rank of a measurement: all-reduce and all-gather at growing sizes, each result compared bit by bit."""

import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

_SIZES = tuple(8 << shift for shift in (0, 13, 17, 21, 25, 29))
"""Bytes that each rank has at the end: 8 B, 64 KiB, 1 MiB, 16 MiB, 256 MiB, 4 GiB."""
_CPU_MOST = 16 << 20
_LARGE = 1 << 20
_TIMES, _MOST_TIMES = 5, 100
"""That a size is measured, from 1 MiB on and below."""
_GROWTH = 16 * 3
"""Times as long as one operation of a size, three of the next one take."""
_COPIES = 8
"""Of a size that have to fit into the memory that is free."""
_SHARE = 12
"""Of the budget, for one collective at one size."""
_LEAVE_S = 5.0


_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
"""Its newer name, since torch 2.13, or its older one."""


class Rank:
    """One rank of a group, joined with the others."""

    def __init__(self, order: dict[str, Any], local: int, report: Callable[[str], None]) -> None:
        """Join: ``order`` has the group's ``address``, ``port``, ``hosts``, ``ranks`` of each and ``place``.

        Raises:
            RuntimeError: the others are not there in time, or the backend cannot reach them.
        """
        self._each, self.world = order["ranks"], order["ranks"] * order["hosts"]
        self.number = order["place"] * self._each + local
        self._on_gpu, self._report = bool(order["gpus"]), report
        self._device = torch.device("cuda", local) if self._on_gpu else torch.device("cpu")
        if self._on_gpu:
            torch.cuda.set_device(self._device)
        torch.set_num_threads(1)
        limit = timedelta(seconds=order["limit_s"])
        report("it waited for the others")
        self._store = dist.TCPStore(
            order["address"], order["port"], self.world, is_master=self.number == 0, timeout=limit
        )
        report("it connected to the others")
        dist.init_process_group(
            "nccl" if self._on_gpu else "gloo",
            store=self._store,
            rank=self.number,
            world_size=self.world,
            timeout=limit,
        )
        self._tiny = torch.zeros(1, dtype=torch.int32, device=self._device)
        self._ends = time.monotonic() + order["budget_s"]
        self._share_s = order["budget_s"] / _SHARE
        self._meet()

    def measure(self) -> dict[str, Any]:
        """Return ``wrong``, how many values are; of rank 0 also ``latency_us`` and ``bandwidths``."""
        self._store.set(f"most-{self.number}", str(self._find_most()))
        each = (int(self._store.get(f"most-{number}")) for number in range(self.world))
        most = self._agree("most", lambda: min(each))
        found: dict[str, Any] = {"wrong": 0, "bandwidths": []}
        for op, moved in (("all_reduce", 2.0), ("all_gather", 1.0)):
            foreseen_s = 0.0
            for size in _SIZES:
                elements = max(1, size // 4 // self.world) * self.world
                over = foreseen_s > self._share_s or (size > _SIZES[0] and 4 * elements > most)
                if self._agree(f"{op} {size} is over", int(over).__int__):
                    break
                self._report(f"it was at the {op} of {size} bytes")
                taken, wrong = self._series(op, size, elements)
                seconds = taken[len(taken) // 10]  # a CPU that others use delays the rest
                found["wrong"] = max(found["wrong"], wrong)
                if op == "all_reduce" and size == _SIZES[0]:
                    found["latency_us"] = round(seconds * 1e6, 2)
                elif size > _SIZES[0]:
                    rate = moved * (self.world - 1) / self.world * 4 * elements / seconds / 1e9
                    found["bandwidths"].append({"op": op, "size": size, "gb_s": float(f"{rate:.5g}")})
                foreseen_s = median(taken) * _GROWTH if size >= _LARGE else 0.0
        return found

    def leave(self) -> None:
        """Leave once all have; rank 0 has the store that the others still ask."""
        self._store.add("left", 1)
        ends = time.monotonic() + _LEAVE_S
        while self.number == 0 and self._store.add("left", 0) < self.world and time.monotonic() < ends:
            time.sleep(0.01)
        dist.destroy_process_group()

    def _series(self, op: str, size: int, elements: int) -> tuple[list[float], int]:
        """Return the seconds of each, the fastest first, and the most values of one result that are wrong."""
        base = torch.arange(elements, dtype=torch.int32, device=self._device)
        base.mul_(-1640531535).bitwise_right_shift_(8).bitwise_and_(0xFFFF)  # no two neighbours alike
        part = elements // self.world
        if op == "all_reduce":
            given, result = base + self.number, torch.empty_like(base)
            expected = base * self.world + self.world * (self.world - 1) // 2
        else:
            given = base[self.number * part : (self.number + 1) * part] + self.number
            result = torch.empty_like(base)
            ranks = torch.arange(self.world, dtype=torch.int32, device=self._device)
            expected = base + ranks.repeat_interleave(part)
        seconds: list[float] = []
        wrong, times = 0, 1
        for number in range(-1, _MOST_TIMES):  # the first connects, and is not timed
            if number >= times:
                break
            if op == "all_reduce":
                result.copy_(given)
            else:
                result.zero_()
            self._meet()
            began = time.perf_counter()
            self._operate(op, result, given)
            self._finish()
            took = time.perf_counter() - began
            wrong = max(wrong, int((result != expected).sum()))
            if number >= 0:
                seconds.append(took)
            if number <= 0:
                share = min(self._share_s, max(0.0, self._ends - time.monotonic()) / 4)
                wanted = int(share / max(took, 1e-6))
                most = _TIMES if size >= _LARGE else _MOST_TIMES
                times = self._agree(f"{op} {size} times {number}", max(1, min(most, wanted)).__int__)
        return sorted(seconds), wrong

    def _operate(self, op: str, result: torch.Tensor, given: torch.Tensor) -> None:
        if op == "all_reduce":
            dist.all_reduce(result)
        else:
            _gather(result, given)

    def _meet(self) -> None:
        dist.all_reduce(self._tiny)
        self._finish()

    def _finish(self) -> None:
        if self._on_gpu:
            torch.cuda.synchronize(self._device)

    def _agree(self, name: str, choose: Callable[[], int]) -> int:
        """Return what rank 0 chooses; by the store, which no wrong result touches."""
        if self.number == 0:
            self._store.set(name, str(choose()))
        return int(self._store.get(name))

    def _find_most(self) -> int:
        if not self._on_gpu:
            return _CPU_MOST
        free, _ = torch.cuda.mem_get_info(self._device)
        return int(free) // _COPIES


def measure_rank(order: dict[str, Any], local: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Join, measure and leave; return what `Rank.measure` does."""
    rank = Rank(order, local, report)
    found = rank.measure()
    rank.leave()
    return found if rank.number == 0 else {"wrong": found["wrong"]}


def prepare_devices(gpus: int) -> dict[str, Any]:
    """Load what the first measurement needs, which takes long from a cold disk."""
    for number in range(gpus):
        torch.zeros(1, device=torch.device("cuda", number)).add_(1).cpu()
    return {}
