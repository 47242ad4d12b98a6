# SPDX-License-Identifier: Apache-2.0
"""Samples a second of DistributedDataParallel by each way to launch a site's ranks, side by side.

launch.py [--ranks N] [--rounds N]

torchrun alone, our launcher on one node, and our launcher on two "nodes" of this machine, with half of the
ranks and GPUs each and torchrun's static rendezvous between them. On CPU where there is no GPU.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import torch
from torch import distributed, nn

_SECONDS = 4.0
_NODES = ("localhost", "127.0.0.1")


def main() -> None:
    """Measure each way in turn, several times, and print their medians and ratios to the first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        _train()
        return
    rates: dict[str, list[float]] = {"torchrun": [], "launcher, one node": [], "launcher, two nodes": []}
    for _ in range(args.rounds):
        for way, measured in rates.items():
            measured.append(_measure(way, args.ranks))
    first = median(rates["torchrun"])
    print("| way | samples/s, median | to torchrun's | lowest | highest |\n| --- | --- | --- | --- | --- |")
    for way, measured in rates.items():
        own = median(measured)
        print(f"| {way} | {own:.0f} | {own / first:.3f} | {min(measured):.0f} | {max(measured):.0f} |")


def _measure(way: str, ranks: int) -> float:
    """Launch the ranks one way and return what rank 0 printed."""
    script = [str(Path(__file__).resolve()), "--train"]
    of_nodes = way not in ("torchrun", "launcher, one node")
    module = "rekindle.slurm.launch" if of_nodes else "rekindle.trainer.launch"
    launcher = [sys.executable, "-m", module, "--site=0", f"--ranks={ranks}"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    environ["OMP_NUM_THREADS"] = "1"
    environ["REKINDLE_EVIDENCE"] = tempfile.gettempdir()  # where NCCL of several nodes writes its log
    if way == "torchrun":
        alone = ["--standalone", f"--nproc-per-node={ranks}"]
        started = [_start([sys.executable, "-m", "torch.distributed.run", *alone, *script], environ)]
    elif way == "launcher, one node":
        started = [_start([*launcher, *script], environ)]
    else:
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(ranks)))
        more = [f"--nodes={','.join(_NODES)}", f"--port={port}", f"--gpus={gpus}"]
        started = [
            _start([*launcher, *more, *script], environ | {"SLURMD_NODENAME": node, "SLURM_JOB_ID": "1"})
            for node in _NODES
        ]
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        sys.exit(f"{way} ended with {[process.returncode for process in started]}.")
    lines = "".join(outputs).splitlines()
    return float(next(line for line in lines if line.startswith("samples/s")).split()[1])


def _start(command: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)


def _train() -> None:
    gpu = torch.cuda.is_available()
    device = torch.device("cuda" if gpu else "cpu", int(os.environ["LOCAL_RANK"]) if gpu else 0)
    if gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if gpu else "gloo")
    width, batch = (4096, 4096) if gpu else (256, 256)
    layers = [layer for _ in range(6) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(batch, width, device=device)

    def steps(count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
        if gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    steps(10)
    count = torch.tensor(int(max(10, _SECONDS / steps(10) * 10)), device=device)
    distributed.broadcast(count, 0)
    rate = int(count) * batch * distributed.get_world_size() / steps(int(count))
    if distributed.get_rank() == 0:
        print(f"samples/s {rate}", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
