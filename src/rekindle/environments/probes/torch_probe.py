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


def probe_gpus() -> list[dict[str, Any]]:
    """Return each GPU with the relative error of a product on it."""
    found = []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append(
            {
                "uuid": visible if visible.startswith("MIG-") else f"GPU-{properties.uuid}",
                "name": properties.name,
                "compute_capability": f"{properties.major}.{properties.minor}",
                "matmul_error": _matmul_error(torch.device("cuda", index)),
            }
        )
    return found


def _matmul_error(device: torch.device) -> float:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator) for _ in range(2))
    expected = a.double() @ b.double()
    return float((a.to(device) @ b.to(device)).cpu().sub(expected).norm() / expected.norm())


def _rank(rank: int, world: int, backend: str, store: str) -> None:
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    if backend == "nccl":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=world)
    total = torch.full((1 << 20,), float(rank + 1), device=device)
    dist.all_reduce(total)
    if not bool((total == world * (world + 1) / 2).all()):
        raise RuntimeError(f"rank {rank} got a wrong sum over {world} ranks with {backend}")
    dist.destroy_process_group()


def main() -> None:
    """Print the report; an exception is the probe's failure."""
    compiling = mp.get_context("fork").Process(target=_load_compiler)
    compiling.start()  # meanwhile, as their bytecode takes seconds; before this process uses a GPU
    seen = probe_gpus()
    wrong = [gpu for gpu in seen if not gpu["matmul_error"] < TOLERANCE]
    if wrong:
        sys.exit(f"a product on {wrong[0]['name']} is off by {wrong[0]['matmul_error']:.2g} (relative)")
    print(json.dumps({"gpus": seen}), flush=True)
    backend, world = ("nccl", len(seen)) if seen else ("gloo", 2)
    with tempfile.TemporaryDirectory() as folder:
        given = (world, backend, str(Path(folder, "store")))
        # A fork has torch already, but nothing on a GPU that its parent has used.
        mp.start_processes(_rank, given, world, start_method="spawn" if seen else "fork")
    compiling.join()
    if compiling.exitcode:
        _load_compiler()  # it raises here what it raised there
    print(
        json.dumps(
            {"build": describe_build(), "gpus": seen, "collective": {"backend": backend, "ranks": world}}
        )
    )


if __name__ == "__main__":
    main()
