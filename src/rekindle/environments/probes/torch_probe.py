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
from operator import itemgetter
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
    torch.optim.SGD([torch.zeros(1)])  # loads hundreds of modules that each rank of a job needs too


def _probe_gpu(index: int) -> dict[str, Any]:
    """Return a GPU with the relative error of a product on it."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    properties = torch.cuda.get_device_properties(index)
    return {
        "uuid": visible if visible.startswith("MIG-") else f"GPU-{properties.uuid}",
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "matmul_error": _matmul_error(torch.device("cuda", index)),
    }


def _matmul_error(device: torch.device) -> float:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator) for _ in range(2))
    expected = a.double() @ b.double()
    return float((a.to(device) @ b.to(device)).cpu().sub(expected).norm() / expected.norm())


class _Ranks:
    """A process on each GPU, or two on the CPU, which compute and then sum together.

    They are forks, which have torch already; nothing may use a GPU before they are there.
    """

    def __init__(self, gpus: int, folder: str) -> None:
        """Start them; they meet in ``folder``."""
        self.backend, self.count = ("nccl", gpus) if gpus else ("gloo", 2)
        self._store = f"file://{folder}/store"
        fork = mp.get_context("fork")
        self._products, self._found = fork.Barrier(self.count), fork.SimpleQueue()
        self._started = mp.start_processes(
            self._compute, (gpus,), self.count, join=False, daemon=True, start_method="fork"
        )

    def _compute(self, rank: int, gpus: int) -> None:
        device = torch.device("cuda", rank) if gpus else torch.device("cpu")
        seen = torch.cuda.device_count() if gpus else 0
        if rank < seen:
            torch.cuda.set_device(device)
            self._multiply(rank)
        if seen < gpus:
            return
        if self._products.wait() == 0:
            print("the products are right", flush=True)
        dist.init_process_group(self.backend, init_method=self._store, rank=rank, world_size=self.count)
        total = torch.full((1 << 20,), float(rank + 1), device=device)
        dist.all_reduce(total)
        if not bool((total == self.count * (self.count + 1) / 2).all()):
            raise RuntimeError(f"rank {rank} got a wrong sum over {self.count} ranks with {self.backend}")
        dist.destroy_process_group()

    def _multiply(self, index: int) -> None:
        gpu = _probe_gpu(index)
        if not gpu["matmul_error"] < TOLERANCE:
            raise RuntimeError(f"a product on {gpu['name']} is off by {gpu['matmul_error']:.2g} (relative)")
        self._found.put((index, gpu))

    def wait(self) -> list[dict[str, Any]]:
        """Return the GPUs once all have ended; an exception of theirs is raised."""
        while not self._started.join():
            pass
        found = []
        while not self._found.empty():
            found.append(self._found.get())
        return [gpu for _, gpu in sorted(found, key=itemgetter(0))]


def main() -> None:
    """Print the report; an exception is the probe's failure."""
    given = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    with tempfile.TemporaryDirectory() as folder:
        compiling = mp.get_context("fork").Process(target=_load_compiler)
        compiling.start()  # meanwhile, as bytecode takes seconds
        ranks = _Ranks(len(given), folder)
        build = describe_build()
        gpus = ranks.wait()
    compiling.join()
    if compiling.exitcode:
        _load_compiler()  # it raises here what it raised there
    collective = {"backend": ranks.backend, "ranks": ranks.count}
    print(json.dumps({"build": build, "gpus": gpus, "collective": collective}))


if __name__ == "__main__":
    main()
