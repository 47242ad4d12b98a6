# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.slurm.launch --site=0 --ranks=4 SCRIPT OPTION…``: a site's ranks on several nodes.

Each node of the allocation gets as many of them, by one step that is named after the run. The node on which
this is called, the client's, has global rank 0, which alone talks to NVFlare.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import NoReturn

from rekindle.host.queues import QueueError
from rekindle.host.variables import name_machine
from rekindle.trainer.launch import PROCESS, TORCHRUN, exec_command, make_options_parser
from rekindle.trainer.sites import SITE

from .steps import make_step, name_steps, order_nodes

_PORTS = range(20_000, 32_768)
"""Of rendezvous; what the kernel gives out by itself lies above."""
_NCCL_LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
"""Logs the network that NCCL uses, as a rank starts: about 5 KB."""
_SITES = 64
"""Ports of each job, for its sites."""


def main() -> NoReturn:
    """Become the step of all nodes, or on one of them what starts its ranks.

    Raises:
        SystemExit: ranks or GPUs cannot be spread over the nodes, or SLURM's commands are not there.
    """
    parser = make_options_parser()
    parser.add_argument("--nodes", help="of the site, by node rank: this is the step on one of them")
    parser.add_argument(
        "--port", type=int, help="of the rendezvous on the first node, or of TensorFlow on each"
    )
    parser.add_argument("--gpus", default="", help="of all ranks")
    given, environ = parser.parse_args(), {**os.environ}
    starts = _one_node(given, given.nodes.split(","), environ) if given.nodes else _step(given, environ)
    exec_command([*starts, *given.command], environ)


def _step(given: argparse.Namespace, environ: dict[str, str]) -> list[str]:
    nodes, ranks = _nodes(environ), given.ranks
    gpus = environ.get("CUDA_VISIBLE_DEVICES", "")
    count = len(gpus.split(",")) if gpus else 0
    if ranks % len(nodes) or count not in {0, ranks}:
        sys.exit(
            f"{SITE} has {ranks} ranks and {count} GPUs on {len(nodes)} nodes. "
            "Fix: give it as many ranks on each node, and each rank a GPU or none."
        )
    name = name_steps(environ.get("REKINDLE_NONCE", ""))
    _relay_output()
    return [
        *make_step(name, len(nodes), "--kill-on-bad-exit=1", "--cpu-bind=none"),
        *(sys.executable, "-m", "rekindle.slurm.launch", f"--site={given.site}", f"--ranks={ranks}"),
        *(f"--nodes={','.join(nodes)}", f"--port={_port(int(environ['SLURM_JOB_ID']), given.site)}"),
        *(f"--gpus={gpus}", *(("--replicas",) if given.replicas else ())),
    ]


def _relay_output() -> None:
    """Have what this process becomes write to a relay, both of its outputs as one, as NVFlare reads them."""
    code = files("rekindle.slurm").joinpath("relay.py").read_text(encoding="utf-8")  # of a zip file, on hosts
    reader = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE)
    assert reader.stdin
    for output in (1, 2):
        os.dup2(reader.stdin.fileno(), output)


def _nodes(environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return order_nodes(environ)
    except QueueError as error:
        sys.exit(f"{error} Fix: have SLURM's commands on PATH of the job.")


def _port(job: int, site: int) -> int:
    """Return a port of this node for the rendezvous of a site, another for each site and job.

    A port that another program holds is skipped.
    """
    first = job * _SITES + site
    for number in range(first, first + len(_PORTS), _SITES):
        port = _PORTS[number % len(_PORTS)]
        with socket.socket() as free:
            try:
                free.bind(("", port))
            except OSError:
                continue
        return port
    sys.exit(f"No port from {_PORTS[0]} to {_PORTS[-1]} is free. Fix: end what holds them.")


def _one_node(given: argparse.Namespace, nodes: list[str], environ: dict[str, str]) -> list[str]:
    """Return the command that starts this node's ranks, which see only their own GPUs."""
    own, size = nodes.index(name_machine(environ)), given.ranks // len(nodes)
    environ["CUDA_VISIBLE_DEVICES"] = ",".join(given.gpus.split(",")[own * size : (own + 1) * size])
    if given.gpus:
        environ |= {**_NCCL_LOG, "NCCL_DEBUG_FILE": f"{environ['REKINDLE_EVIDENCE']}/{SITE}.nccl-%h-%p.log"}
    if given.replicas:
        cluster = {"worker": [f"{name}:{given.port}" for name in nodes]}
        task = {"type": "worker", "index": own}
        environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
        # As torchrun sets them for its ranks; the process stands for the first of this node's.
        environ |= {
            "RANK": str(own * size),
            "WORLD_SIZE": str(given.ranks),
            "GROUP_WORLD_SIZE": str(len(nodes)),
        }
        return [*PROCESS]
    return [
        *(*TORCHRUN, f"--nnodes={len(nodes)}", f"--nproc-per-node={size}", f"--node-rank={own}"),
        *("--rdzv-backend=static", f"--rdzv-endpoint={nodes[0]}:{given.port}"),
        f"--rdzv-id={environ['SLURM_JOB_ID']}-{given.site}",
    ]


if __name__ == "__main__":
    main()
