# SPDX-License-Identifier: Apache-2.0
"""What each GPU does by itself: products, copies, its memory, and products without a pause for minutes."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from rank import SERIES, Rank, seconds_of, series_of

_SIDE = 8192
"""Of the square matrices that are multiplied."""
_BURST = 10
"""Products in a row that a GPU does before its power limit is felt."""
_WARM_S, _AGAIN_S, _PART_S = 1.2, 0.3, 0.1
"""Of products in a row until a clock has settled under the power limit, until it has for products of another
kind, and of each figure after that."""
_COPY = 2 << 30
_PINNED = 512 << 20
_SPARE = 0.05
"""Of free memory, left to others that need some while it is tested."""
_PATTERNS = (0x5555555555555555, -0x5555555555555556)
_STEP_S = 5.0
"""Between two figures of a burn."""


def products(rank: Rank) -> None:
    """Multiply matrices in each number format, all GPUs at once, and compare the results bit by bit."""
    torch.backends.cuda.matmul.allow_tf32 = True
    generator = torch.Generator(rank.device).manual_seed(1)
    left, right = (torch.randn(_SIDE, _SIDE, device=rank.device, generator=generator) for _ in range(2))
    formats: dict[str, Callable[[], torch.Tensor]] = {"tf32": lambda: left @ right}
    for name, kind in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        a, b = left.to(kind), right.to(kind)
        formats[name] = lambda a=a, b=b: a @ b  # type: ignore[misc]
    if torch.cuda.get_device_capability(rank.device) >= (8, 9):
        a, b = left.to(torch.float8_e4m3fn), right.to(torch.float8_e4m3fn).t().contiguous().t()
        unit = torch.ones((), device=rank.device)
        formats["fp8"] = lambda: torch._scaled_mm(a, b, scale_a=unit, scale_b=unit, out_dtype=torch.bfloat16)
    for multiply in formats.values():  # a first product chooses its kernel
        multiply()
    shape = f"products of {_SIDE} × {_SIDE} matrices of random numbers, all GPUs at once"
    bf16 = formats.pop("bf16")
    bursts = []
    for _ in range(SERIES + 1):
        rank.meet()
        time.sleep(0.05)
        bursts.append(2 * _SIDE**3 / seconds_of(bf16, _BURST, rank.device) / 1e12)
    message = f"{shape}, {_BURST} after a rest, before its power limit is felt"
    rank.note("bf16_matmul", bursts[1:], "TFLOP/s", message)
    sustained = {"bf16_matmul_sustained": bf16, **{f"{kind}_matmul": do for kind, do in formats.items()}}
    for name, multiply in sustained.items():
        rank.meet()
        once = seconds_of(multiply, _BURST, rank.device)
        seconds_of(multiply, round((_WARM_S if multiply is bf16 else _AGAIN_S) / once), rank.device)
        times = max(1, round(_PART_S / once))
        rates = [2 * _SIDE**3 / seconds_of(multiply, times, rank.device) / 1e12 for _ in range(SERIES)]
        rank.note(name, rates, "TFLOP/s", f"{shape}, under its power limit")
    _compare(rank, bf16)


def _compare(rank: Rank, multiply: Callable[[], torch.Tensor]) -> None:
    """Compare one product with that of most GPUs, or, with one GPU or an instance, with its own second one.

    If two results are equally frequent, it is not known which is right, and all differ.
    """
    product = multiply().view(torch.int16)
    count = rank.count if rank.joined else 1
    digest = product.to(torch.int64).mul_(torch.arange(1, _SIDE + 1, device=rank.device)).sum()
    digests = [digest]
    if count > 1:
        digests = [torch.zeros_like(digest) for _ in range(count)]
        dist.all_gather(digests, digest)
    known = [int(gathered) for gathered in digests]
    most = max(map(known.count, known))
    likeliest = list(dict.fromkeys(gathered for gathered in known if known.count(gathered) == most))
    right = multiply().view(torch.int16) if count == 1 else product.clone()
    if count > 1:
        dist.broadcast(right.view(torch.bfloat16), src=known.index(likeliest[0]))
    differing = (right != product).sum()
    than = "its own second one" if count == 1 else "that of most GPUs"
    if len(likeliest) > 1:
        dist.all_reduce(differing, dist.ReduceOp.MAX)
        than = "those of other GPUs, and it is not known which is right"
    wrong = int(differing)
    message = f"{wrong} of {_SIDE**2} values of one product differ from {than}"
    rank.note("product_differs", [float(wrong)], "values", message)


def copies(rank: Rank) -> None:
    """Copy within the GPU's memory, then between it and the host, all at once and each alone."""
    free, _ = torch.cuda.mem_get_info(rank.device)
    size = min(_COPY, free // 4 >> 20 << 20)
    here, there = (torch.empty(size, dtype=torch.uint8, device=rank.device).fill_(1) for _ in range(2))
    rank.meet()
    rates = [2 * size / seconds / 1e9 for seconds in series_of(lambda: there.copy_(here), 10, rank.device)]
    rank.note("device_copy", rates, "GB/s", f"{size >> 20} MiB within its memory, read and written")
    pinned = torch.empty(_PINNED, dtype=torch.uint8, pin_memory=True)
    part = here[:_PINNED]
    message = f"{_PINNED >> 20} MiB of pinned memory {rank.numa}"
    ways = {
        "host_to_device": lambda: part.copy_(pinned, non_blocking=True),
        "device_to_host": lambda: pinned.copy_(part, non_blocking=True),
    }
    rank.meet()
    rates = [_PINNED / seconds / 1e9 for seconds in series_of(ways["host_to_device"], 4, rank.device)]
    rank.note("host_to_device_together", rates, "GB/s", f"{message}, all GPUs at once")
    for turn in range(rank.count):
        rank.meet()
        if turn == rank.number:
            for name, copy in ways.items():
                rates = [_PINNED / seconds / 1e9 for seconds in series_of(copy, 2, rank.device)]
                rank.note(name, rates, "GB/s", f"{message}, alone")


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
    errors = int(wrong)
    message = f"{len(chunks) * size >> 20} of {free >> 20} MiB that were free, three patterns"
    rank.note("memory_tested", [tested], "%", message)
    message = f"{errors} words of 8 bytes were read back otherwise"
    rank.note("memory_errors", [float(errors)], "words", message)
    del chunks, index
    torch.cuda.empty_cache()


def burn(rank: Rank, minutes: float) -> None:
    """Multiply without a pause, and note a figure every few seconds."""
    a, b = (torch.randn(_SIDE, _SIDE, device=rank.device).to(torch.bfloat16) for _ in range(2))
    first = (a @ b).view(torch.int16)
    rates: list[float] = []
    wrong = 0
    rank.meet()
    ends = time.monotonic() + 60 * minutes
    times = max(1, round(_STEP_S / seconds_of(lambda: a @ b, _BURST, rank.device)))
    while time.monotonic() < ends:
        rates.append(2 * _SIDE**3 / seconds_of(lambda: a @ b, times, rank.device) / 1e12)
        wrong += int(((a @ b).view(torch.int16) != first).sum())
        if rank.number == 0:
            print(f"{rates[-1]:.0f} TFLOP/s, {ends - time.monotonic():.0f} s left", flush=True)
    message = f"products without a pause for {minutes:g} min"
    rank.note("bf16_matmul_sustained", rates, "TFLOP/s", message)
    rank.note(
        "product_differs", [float(wrong)], "values", f"{wrong} values changed while it did the same product"
    )
