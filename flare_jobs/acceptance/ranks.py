# SPDX-License-Identifier: Apache-2.0
"""What one process for each GPU measures: ranks.py FOLDER MINUTES [NAME…], with RANK and WORLD_SIZE.

With names, only the parts that measure these. All at once, except those marked alone; each writes
FOLDER/rank-<n>.json, a list of Measurements.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from gpu import burn, copies, memory, products
from links import collectives, peers
from rank import SERIES, Rank


def host_memory(rank: Rank) -> None:
    """Copy in the host's memory with all cores; the first process does it, while the GPUs rest."""
    rank.meet()
    if rank.number == 0:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        here, there = (torch.ones(1 << 28) for _ in range(2))
        rates = []
        for _ in range(SERIES):
            began = time.perf_counter()
            there.copy_(here)
            rates.append(2 * here.numel() * 4 / 1e9 / (time.perf_counter() - began))
        rank.note("memory_bandwidth", rates, "GB/s", "1 GiB copied by all cores, read and written", gpu=None)
    rank.meet()


_PARTS: dict[Callable[[Rank], None], tuple[str, ...]] = {
    products: ("matmul",),
    copies: ("device",),
    memory: (),
    peers: ("peer",),
    collectives: ("all_reduce", "all_gather", "reduce_scatter"),
    host_memory: ("memory_bandwidth",),
}
"""What measures which figures, by words in their names."""


def main() -> None:
    """Measure, and write it down."""
    folder, minutes, names = Path(sys.argv[1]), float(sys.argv[2]), " ".join(sys.argv[3:])
    rank = Rank(folder)
    if minutes:
        burn(rank, minutes)
    parts = [part for part, words in _PARTS.items() if not names or any(word in names for word in words)]
    for measure in parts[bool(minutes) :]:
        began = time.monotonic()
        measure(rank)
        if rank.number == 0:
            print(f"{measure.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    (folder / f"rank-{rank.number}.json").write_text(json.dumps(rank.figures))
    rank.meet()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
