# SPDX-License-Identifier: Apache-2.0
"""torch: the build's versions, a product on each GPU compared with the CPU, a collective, an optimizer.

Without GPUs the collective is of two processes, with gloo.
"""

import importlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

TOLERANCE = 1e-3
"""Relative error of a float32 product; TF32 stays below it."""


def describe_build() -> dict[str, Any]:
    """Return what the build reports."""
    report: dict[str, Any] = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "arch_list": torch.cuda.get_arch_list(),
    }
    if torch.version.cuda and torch.cuda.is_available():
        report["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    for name in ("torchvision", "lightning", "transformers", "peft", "trl"):
        if _is_brought(name):
            report[name] = importlib.import_module(name).__version__
    return report


def _is_brought(name: str) -> bool:
    """Whether the environment brings a module, which then has to import beside this torch.

    A host's own torch comes with its torchvision; what else its Python has is not of this environment.
    """
    found = importlib.util.find_spec(name)
    return bool(found and (name == "torchvision" or str(found.origin).startswith(f"{sys.prefix}/")))


def _load_compiler() -> None:
    torch.optim.SGD([torch.zeros(1)])  # loads hundreds of modules that each rank needs too


def describe_gpu(index: int, uuid: str) -> dict[str, Any]:
    """Return a GPU, which was asked for by ``uuid``, with the relative error of a product on it."""
    properties = torch.cuda.get_device_properties(index)
    return {
        "uuid": uuid if uuid.startswith("MIG-") else f"GPU-{properties.uuid}",
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "matmul_error": _matmul_error(torch.device("cuda", index)),
    }


def _matmul_error(device: torch.device) -> float:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator) for _ in range(2))
    expected = a.double() @ b.double()
    return float((a.to(device) @ b.to(device)).cpu().sub(expected).norm() / expected.norm())


def _rank(rank: int, gpus: list[str], world: int, store: str, seen: Any) -> None:
    device, backend = torch.device("cpu"), "gloo"
    if gpus:
        there = rank < torch.cuda.device_count()
        seen.put((rank, describe_gpu(rank, gpus[rank]) if there else None))
        device, backend = torch.device("cuda", rank), "nccl"
        torch.cuda.set_device(device)
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=world)
    total = torch.full((1 << 20,), float(rank + 1), device=device)
    dist.all_reduce(total)
    if not bool((total == world * (world + 1) / 2).all()):
        raise RuntimeError(f"rank {rank} got a wrong sum over {world} ranks with {backend}")
    dist.destroy_process_group()


def probe_gpus(gpus: list[str]) -> list[dict[str, Any]]:
    """Return those of ``gpus`` that torch sees, once they have computed; then see that a collective is right.

    Ranks are forks, which have torch already; this process uses no GPU before.
    """
    world, seen = len(gpus) or 2, mp.get_context("fork").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        given = (gpus, world, str(Path(folder, "store")), seen)
        ranks = mp.start_processes(_rank, given, world, join=False, daemon=True, start_method="fork")
        found: dict[int, dict[str, Any] | None] = {}
        while len(found) < len(gpus):
            if seen.empty():
                ranks.join(timeout=0.05)  # it raises what a rank raised
            else:
                found.update([seen.get()])
        there = [gpu for _, gpu in sorted(found.items()) if gpu]
        wrong = [gpu for gpu in there if not gpu["matmul_error"] < TOLERANCE]
        if wrong:
            sys.exit(f"a product on {wrong[0]['name']} is off by {wrong[0]['matmul_error']:.2g} (relative)")
        if len(there) == len(gpus):
            print(json.dumps({"gpus": there}), flush=True)
            while not ranks.join():
                pass
    return there


def main() -> None:
    """Print the report; an exception is the probe's failure."""
    compiling = mp.get_context("fork").Process(target=_load_compiler)
    compiling.start()  # meanwhile, as their bytecode takes seconds
    gpus = [uuid for uuid in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if uuid]
    seen = probe_gpus(gpus)
    compiling.join()
    if compiling.exitcode:
        _load_compiler()  # it raises here what it raised there
    collective = {"backend": "nccl" if gpus else "gloo", "ranks": len(gpus) or 2}
    print(json.dumps({"build": describe_build(), "gpus": seen, "collective": collective}))


if __name__ == "__main__":
    main()
