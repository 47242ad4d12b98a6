"""What one process for each GPU measures: ranks.py FOLDER MINUTES, with RANK and WORLD_SIZE.

All at once, but where it says alone; each writes FOLDER/rank-<n>.json, a list of Measurements.
"""

from __future__ import annotations

import json
import os
import sys
import time
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
