"""What one process for each GPU measures: ranks.py FOLDER MINUTES, with RANK and WORLD_SIZE.

All at once, but where it says alone; each writes FOLDER/rank-<n>.json, a list of Measurements.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

_SIDE = 8192
"""Of the square matrices that are multiplied."""
_SERIES = 5
_BURST = 10
"""Products in a row that a GPU does before its power limit is felt."""
_WARM_S, _AGAIN_S, _PART_S = 1.2, 0.3, 0.1
"""Of products in a row until a clock has settled under the power limit, until it has for products of another
kind, and of each figure after that."""
_COPY = 2 << 30
_PINNED = 512 << 20
_SPARE = 0.05
"""Of free memory, left to whoever else needs some while it is tested."""
_PATTERNS = (0x5555555555555555, -0x5555555555555556)
_SIZES = (8, 1 << 20, 16 << 20, 128 << 20, 1 << 30, 4 << 30)
_STEP_S = 5.0
"""Between two figures of a burn."""

Figure = dict[str, Any]


class Rank:
    """One GPU among the others."""

    def __init__(self, folder: Path) -> None:
        """Join the others."""
        self.number, self.count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.uuids = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
        self.device = torch.device("cuda", self.number)
        torch.cuda.set_device(self.device)
        _bind(self.device)
        dist.init_process_group(
            "cpu:gloo,cuda:nccl",
            init_method=f"file://{folder / 'rendezvous'}",
            rank=self.number,
            world_size=self.count,
            device_id=self.device,
        )
        self.figures: list[Figure] = []

    def meet(self) -> None:
        """Wait for the others, with no work on any GPU."""
        torch.cuda.synchronize()
        dist.all_reduce(torch.zeros(1))

    def told(self, name: str, series: list[float], unit: str, says: str, **more: Any) -> None:
        """Note a figure, by default of this GPU."""
        value = median(series) if series else None
        figure = {
            "name": name,
            "gpu": self.uuids[self.number],
            "value": value,
            "unit": unit,
            "series": series,
        }
        self.figures.append(figure | {"says": says} | more)


def _bind(device: torch.device) -> None:
    """Run on the cores of the GPU's own NUMA node, so that pinned memory comes to lie there."""
    told = torch.cuda.get_device_properties(device)
    bus = f"{told.pci_domain_id:04x}:{told.pci_bus_id:02x}:{told.pci_device_id:02x}.0"
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
        return


def _seconds(work: Callable[[], object], times: int, device: torch.device) -> float:
    """Return the mean seconds of ``work`` on a GPU's own clock."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(device):
        begin.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
    return begin.elapsed_time(end) / 1e3 / times


def _series(work: Callable[[], object], times: int, device: torch.device) -> list[float]:
    _seconds(work, max(1, times // 2), device)
    return [_seconds(work, times, device) for _ in range(_SERIES)]


def products(rank: Rank) -> None:
    """Multiply matrices in each number format, all GPUs at once, and compare the results bit by bit."""
    torch.backends.cuda.matmul.allow_tf32 = True
    generator = torch.Generator(rank.device).manual_seed(1)
    one, other = (torch.randn(_SIDE, _SIDE, device=rank.device, generator=generator) for _ in range(2))
    formats: dict[str, Callable[[], torch.Tensor]] = {"tf32": lambda: one @ other}
    for name, kind in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        a, b = one.to(kind), other.to(kind)
        formats[name] = lambda a=a, b=b: a @ b  # type: ignore[misc]
    if torch.cuda.get_device_capability(rank.device) >= (8, 9):
        a, b = one.to(torch.float8_e4m3fn), other.to(torch.float8_e4m3fn).t().contiguous().t()
        unit = torch.ones((), device=rank.device)
        formats["fp8"] = lambda: torch._scaled_mm(a, b, scale_a=unit, scale_b=unit, out_dtype=torch.bfloat16)
    for multiply in formats.values():  # a first product chooses its kernel
        multiply()
    shape = f"products of {_SIDE} × {_SIDE} matrices of random numbers, all GPUs at once"
    bf16 = formats.pop("bf16")
    bursts = []
    for _ in range(_SERIES + 1):
        rank.meet()
        time.sleep(0.05)
        bursts.append(2 * _SIDE**3 / _seconds(bf16, _BURST, rank.device) / 1e12)
    says = f"{shape}, {_BURST} after a rest, before its power limit is felt"
    rank.told("bf16_matmul", bursts[1:], "TFLOP/s", says)
    sustained = {"bf16_matmul_sustained": bf16, **{f"{kind}_matmul": do for kind, do in formats.items()}}
    for name, multiply in sustained.items():
        rank.meet()
        once = _seconds(multiply, _BURST, rank.device)
        _seconds(multiply, round((_WARM_S if multiply is bf16 else _AGAIN_S) / once), rank.device)
        times = max(1, round(_PART_S / once))
        rates = [2 * _SIDE**3 / _seconds(multiply, times, rank.device) / 1e12 for _ in range(_SERIES)]
        rank.told(name, rates, "TFLOP/s", f"{shape}, under its power limit")
    _compare(rank, bf16)


def _compare(rank: Rank, multiply: Callable[[], torch.Tensor]) -> None:
    """Hold one product to that of most GPUs, or, with one GPU, to its own second one."""
    product = multiply().view(torch.int16)
    digest = product.to(torch.int64).mul_(torch.arange(1, _SIDE + 1, device=rank.device)).sum()
    digests = [torch.zeros_like(digest) for _ in range(rank.count)]
    dist.all_gather(digests, digest)
    known = [int(one) for one in digests]
    like = known.index(max(known, key=known.count))
    right = multiply().view(torch.int16) if rank.count == 1 else product.clone()
    if rank.count > 1:
        dist.broadcast(right.view(torch.bfloat16), src=like)
    wrong = int((right != product).sum())
    than = "its own second one" if rank.count == 1 else "that of most GPUs"
    says = f"{wrong} of {_SIDE**2} values of one product differ from {than}"
    rank.told("product_differs", [float(wrong)], "values", says)


def copies(rank: Rank) -> None:
    """Copy within the GPU's memory, then between it and the host, all at once and each alone."""
    here, there = (torch.empty(_COPY, dtype=torch.uint8, device=rank.device).fill_(1) for _ in range(2))
    rank.meet()
    rates = [2 * _COPY / seconds / 1e9 for seconds in _series(lambda: there.copy_(here), 10, rank.device)]
    rank.told("device_copy", rates, "GB/s", f"{_COPY >> 20} MiB within its memory, read and written")
    pinned = torch.empty(_PINNED, dtype=torch.uint8, pin_memory=True)
    part = here[:_PINNED]
    says = f"{_PINNED >> 20} MiB of pinned memory"
    ways = {
        "host_to_device": lambda: part.copy_(pinned, non_blocking=True),
        "device_to_host": lambda: pinned.copy_(part, non_blocking=True),
    }
    rank.meet()
    rates = [_PINNED / one / 1e9 for one in _series(ways["host_to_device"], 4, rank.device)]
    rank.told("host_to_device_together", rates, "GB/s", f"{says}, all GPUs at once")
    for turn in range(rank.count):
        rank.meet()
        if turn == rank.number:
            for name, copy in ways.items():
                rates = [_PINNED / one / 1e9 for one in _series(copy, 2, rank.device)]
                rank.told(name, rates, "GB/s", f"{says}, alone")


def memory(rank: Rank) -> None:
    """Write patterns and addresses all over the free memory, and read them back."""
    torch.cuda.empty_cache()
    rank.meet()
    free, _ = torch.cuda.mem_get_info(rank.device)
    size = 1 << 30 if free > 32 << 30 else 128 << 20
    chunks = []
    while (len(chunks) + 1) * size <= free * (1 - _SPARE):
        try:
            chunks.append(torch.empty(size // 8, dtype=torch.int64, device=rank.device))
        except torch.cuda.OutOfMemoryError:
            break
    wrong = torch.zeros((), dtype=torch.int64, device=rank.device)
    for pattern in _PATTERNS:
        for chunk in chunks:
            chunk.fill_(pattern)
        for chunk in chunks:
            wrong += (chunk != pattern).sum()
    index = torch.arange(size // 8, device=rank.device) if chunks else wrong
    for number, chunk in enumerate(chunks[1:]):
        torch.add(index, number * size, out=chunk)
    for number, chunk in enumerate(chunks[1:]):
        wrong += (chunk.sub_(number * size) != index).sum()
    tested = 100 * len(chunks) * size / free
    found = int(wrong)
    says = f"{len(chunks) * size >> 20} of {free >> 20} MiB that were free, three patterns"
    rank.told("memory_tested", [tested], "%", says)
    rank.told("memory_errors", [float(found)], "words", f"{found} words of 8 bytes were read back otherwise")
    del chunks, index
    torch.cuda.empty_cache()


def peers(rank: Rank) -> None:
    """Copy between all pairs, one way and both at once; the first process does it alone."""
    rank.meet()
    if rank.number == 0 and rank.count > 1:
        size = _PINNED
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
    says = f"{size >> 20} MiB {'from GPU to GPU' if direct else 'through the host: they have no peer access'}"
    who = {"gpu": rank.uuids[sender], "peer": rank.uuids[receiver]}
    source = torch.device("cuda", sender)
    rates = [
        size / seconds / 1e9
        for seconds in _series(lambda: buffers[receiver][0].copy_(buffers[sender][0]), 5, source)
    ]
    rank.told("peer_copy", rates, "GB/s", says, **who)
    if sender < receiver:
        # A copy waits for the streams of both ends, so that each way has its own on each.
        back = [torch.cuda.Stream(torch.device("cuda", number)) for number in (receiver, sender)]
        both = []
        for _ in range(_SERIES + 1):
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
        rank.told("peer_copy_both_ways", both[1:], "GB/s", f"{says}, both ways at once, summed", **who)


def collectives(rank: Rank) -> None:
    """All-reduce, all-gather and reduce-scatter over sizes, each with its result looked at."""
    free, _ = torch.cuda.mem_get_info(rank.device)
    least = torch.tensor([float(free)])
    dist.all_reduce(least, dist.ReduceOp.MIN)
    for size in _SIZES if rank.count > 1 else ():
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
        series = _series(run, 50 if size < 1 << 20 else 10 if size < 1 << 28 else 3, rank.device)
        if rank.number == 0:
            _tell(rank, name, 4 * count, factor * (rank.count - 1) / rank.count, series)
        says = f"{wrong} values that the {name} of {size} bytes left on it are wrong"
        rank.told("collective_errors", [float(wrong)], "values", says, size=size)


def _tell(rank: Rank, name: str, size: int, share: float, series: list[float]) -> None:
    if size < _SIZES[1]:
        micro = [1e6 * seconds for seconds in series]
        rank.told(f"{name}_latency", micro, "µs", f"of {size} bytes", gpu=None, size=size)
    else:
        rates = [share * size / seconds / 1e9 for seconds in series]
        rank.told(name, rates, "GB/s", f"bus bandwidth at {size >> 20} MiB", gpu=None, size=size)


def _wrong(rank: Rank, name: str, run: Callable[[], object], whole: torch.Tensor, part: torch.Tensor) -> int:
    """Run a collective over numbers that tell their place and rank; return how many came out wrong."""
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


def burn(rank: Rank, minutes: float) -> None:
    """Multiply without a pause, and note a figure every few seconds."""
    a, b = (torch.randn(_SIDE, _SIDE, device=rank.device).to(torch.bfloat16) for _ in range(2))
    first = (a @ b).view(torch.int16)
    rates: list[float] = []
    wrong = 0
    rank.meet()
    ends = time.monotonic() + 60 * minutes
    times = max(1, round(_STEP_S / _seconds(lambda: a @ b, _BURST, rank.device)))
    while time.monotonic() < ends:
        rates.append(2 * _SIDE**3 / _seconds(lambda: a @ b, times, rank.device) / 1e12)
        wrong += int(((a @ b).view(torch.int16) != first).sum())
        if rank.number == 0:
            print(f"{rates[-1]:.0f} TFLOP/s, {ends - time.monotonic():.0f} s left", flush=True)
    says = f"products without a pause for {minutes:g} min"
    rank.told("bf16_matmul_sustained", rates, "TFLOP/s", says)
    rank.told(
        "product_differs", [float(wrong)], "values", f"{wrong} values changed while it did the same product"
    )


def host_memory(rank: Rank) -> None:
    """Copy in the host's memory with all cores; the first process does it, while the GPUs rest."""
    rank.meet()
    if rank.number == 0:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        here, there = (torch.ones(1 << 28) for _ in range(2))
        rates = []
        for _ in range(_SERIES):
            began = time.perf_counter()
            there.copy_(here)
            rates.append(2 * here.numel() * 4 / 1e9 / (time.perf_counter() - began))
        rank.told("memory_bandwidth", rates, "GB/s", "1 GiB copied by all cores, read and written", gpu=None)
    rank.meet()


def main() -> None:
    """Measure all, and write it down."""
    folder, minutes = Path(sys.argv[1]), float(sys.argv[2])
    rank = Rank(folder)
    if minutes:
        burn(rank, minutes)
    for measure in (products, copies, memory, peers, collectives, host_memory)[bool(minutes) :]:
        began = time.monotonic()
        measure(rank)
        if rank.number == 0:
            print(f"{measure.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    (folder / f"rank-{rank.number}.json").write_text(json.dumps(rank.figures))
    rank.meet()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
