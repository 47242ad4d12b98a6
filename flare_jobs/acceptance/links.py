# SPDX-License-Identifier: Apache-2.0
"""What GPUs do together: copies between each two, and collective operations of all."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from rank import SERIES, Rank, series_of

_COPY = 512 << 20
_SIZES = (8, 1 << 20, 16 << 20, 128 << 20, 1 << 30, 4 << 30)


def peers(rank: Rank) -> None:
    """Copy between all pairs, one way and both at once; the first process does it alone."""
    rank.meet()
    if rank.number == 0 and rank.count > 1 and rank.joined:
        size = _COPY
        buffers = [
            [torch.empty(size, dtype=torch.uint8, device=f"cuda:{number}") for _ in range(2)]
            for number in range(rank.count)
        ]
        for sender in range(rank.count):
            for receiver in range(rank.count):
                if sender != receiver:
                    _pair(rank, buffers, sender, receiver)
        del buffers
        torch.cuda.empty_cache()
    rank.meet()


def _pair(rank: Rank, buffers: list[list[torch.Tensor]], sender: int, receiver: int) -> None:
    size = buffers[0][0].numel()
    direct = torch.cuda.can_device_access_peer(sender, receiver)
    message = (
        f"{size >> 20} MiB {'from GPU to GPU' if direct else 'through the host: they have no peer access'}"
    )
    who = {"gpu": rank.uuids[sender], "peer": rank.uuids[receiver]}
    source = torch.device("cuda", sender)
    rates = [
        size / seconds / 1e9
        for seconds in series_of(lambda: buffers[receiver][0].copy_(buffers[sender][0]), 5, source)
    ]
    rank.note("peer_copy", rates, "GB/s", message, **who)
    if sender < receiver:
        # A copy waits for the streams of both ends, so that each way has its own on each.
        back = [torch.cuda.Stream(torch.device("cuda", number)) for number in (receiver, sender)]
        both = []
        for _ in range(SERIES + 1):
            torch.cuda.synchronize(source)
            torch.cuda.synchronize(receiver)
            began = time.perf_counter()
            for _ in range(5):
                buffers[receiver][0].copy_(buffers[sender][0], non_blocking=True)
                with torch.cuda.stream(back[0]), torch.cuda.stream(back[1]):
                    buffers[sender][1].copy_(buffers[receiver][1], non_blocking=True)
            torch.cuda.synchronize(source)
            torch.cuda.synchronize(receiver)
            both.append(10 * size / 1e9 / (time.perf_counter() - began))
        rank.note("peer_copy_both_ways", both[1:], "GB/s", f"{message}, both ways at once, summed", **who)


def collectives(rank: Rank) -> None:
    """All-reduce, all-gather and reduce-scatter over sizes, each with its result looked at."""
    free, _ = torch.cuda.mem_get_info(rank.device)
    least = torch.tensor([float(free)])
    dist.all_reduce(least, dist.ReduceOp.MIN)
    for size in _SIZES if rank.count > 1 and rank.joined else ():
        if 8 * size < least.item():
            _collect(rank, size)
            torch.cuda.empty_cache()


def _collect(rank: Rank, size: int) -> None:
    count = max(size // 4, rank.count) // rank.count * rank.count
    whole = torch.empty(count, device=rank.device)
    part = torch.empty(count // rank.count, device=rank.device)
    ways: dict[str, tuple[Callable[[], object], float]] = {
        "all_reduce": (lambda: dist.all_reduce(whole), 2.0),
        "all_gather": (lambda: dist.all_gather_into_tensor(whole, part), 1.0),
        "reduce_scatter": (lambda: dist.reduce_scatter_tensor(part, whole), 1.0),
    }
    for name, (run, factor) in ways.items():
        wrong = _wrong(rank, name, run, whole, part)
        rank.meet()
        series = series_of(run, 50 if size < 1 << 20 else 10 if size < 1 << 28 else 3, rank.device)
        if rank.number == 0:
            _note_speed(rank, name, 4 * count, factor * (rank.count - 1) / rank.count, series)
        message = f"{wrong} values that the {name} of {size} bytes left on it are wrong"
        rank.note("collective_errors", [float(wrong)], "values", message, size=size)


def _note_speed(rank: Rank, name: str, size: int, share: float, series: list[float]) -> None:
    if size < _SIZES[1]:
        micro = [1e6 * seconds for seconds in series]
        rank.note(f"{name}_latency", micro, "µs", f"of {size} bytes", gpu=None, size=size)
    else:
        rates = [share * size / seconds / 1e9 for seconds in series]
        rank.note(name, rates, "GB/s", f"bus bandwidth at {size >> 20} MiB", gpu=None, size=size)


def _wrong(rank: Rank, name: str, run: Callable[[], object], whole: torch.Tensor, part: torch.Tensor) -> int:
    """Run a collective over numbers that encode their place and rank; return how many came out wrong."""
    total = rank.count * (rank.count + 1) // 2
    places = torch.arange(whole.numel(), device=rank.device, dtype=torch.int32).remainder_(251)
    length = part.numel()
    mine = slice(rank.number * length, (rank.number + 1) * length)
    if name == "all_gather":
        part.copy_(places[mine])
        whole.zero_()
        run()
        return int((whole != places).sum())
    whole.copy_(places).mul_(rank.number + 1)
    run()
    if name == "all_reduce":
        return int((whole != places * total).sum())
    return int((part != places[mine] * total).sum())
