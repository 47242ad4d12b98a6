# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.trainer.launch --site=0 --ranks=4 SCRIPT OPTION…``: starts a site's ranks by torchrun.

In a SLURM allocation of several nodes each gets as many of them, by one step that is named after the run. The
node on which this is called, the client's, has global rank 0, which alone talks to NVFlare. Anywhere else all
ranks are started here. The process itself becomes srun or torchrun, so that signals reach it.

With ``--replicas`` ranks are replicas of TensorFlow's: one process has all of a node's, and finds the other
nodes' by TF_CONFIG.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from rekindle.host.slurm import name_node

from .participant import PARTICIPANT, WORKSPACE
from .sites import SITE
from .slurm import count_nodes, make_step, name_steps, order_nodes

_PROCESS = (sys.executable, "-u")
_TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
_PORTS = range(20_000, 32_768)
"""Of rendezvous; what the kernel gives out by itself lies above."""
_NCCL_LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
"""Logs the network that NCCL uses, as a rank starts: about 5 KB."""
_SITES = 64
"""Ports of each job, for its sites."""


def main() -> NoReturn:
    """Become what starts the site's ranks.

    Raises:
        SystemExit: its ranks or GPUs cannot be spread over the nodes, or SLURM's commands are not there.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", type=int, required=True, help="number of the site in its job")
    parser.add_argument("--ranks", type=int, required=True, help="of the site, on all of its nodes")
    parser.add_argument("--replicas", action="store_true", help="one process has all ranks of a node")
    parser.add_argument("--nodes", help="of the site, by node rank: this is the step on one of them")
    parser.add_argument(
        "--port", type=int, help="of the rendezvous on the first node, or of TensorFlow on each"
    )
    parser.add_argument("--gpus", default="", help="of all ranks")
    parser.add_argument("--here", help="folder of job.py at the server, which the command has paths in")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.here and PARTICIPANT in os.environ:
        own = str(Path(os.environ[WORKSPACE]).parent)
        given.command = [word.replace(given.here, own) for word in given.command]
    environ = {**os.environ, **_flight_record(os.environ)}
    if given.nodes:
        starts = _one_node(given, given.nodes.split(","), environ)
    elif count_nodes(environ) > 1:
        starts = _step(given, environ)
    elif given.replicas:
        starts = [*_PROCESS]
    else:
        starts = [*_TORCHRUN, "--standalone", "--nnodes=1", f"--nproc-per-node={given.ranks}"]
    try:
        os.execvpe(starts[0], [*starts, *given.command], environ)
    except OSError as error:
        sys.exit(f"{starts[0]} cannot be started: {error.strerror}. Fix: have it on PATH of the job.")


def _flight_record(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which NCCL's ranks keep a record for an autopsy."""
    record = f"{environ.get('REKINDLE_EVIDENCE', '.')}/{SITE}.nccl-rank-"
    return {
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": record,
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": record,
        "TORCH_FR_BUFFER_SIZE": "2000",
    }


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
    return [
        *make_step(name, len(nodes), "--kill-on-bad-exit=1", "--cpu-bind=none"),
        *(sys.executable, "-m", "rekindle.trainer.launch", f"--site={given.site}", f"--ranks={ranks}"),
        *(f"--nodes={','.join(nodes)}", f"--port={_port(int(environ['SLURM_JOB_ID']), given.site)}"),
        *(f"--gpus={gpus}", *(("--replicas",) if given.replicas else ())),
    ]


def _nodes(environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return order_nodes(environ)
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"scontrol does not list the nodes: {error}. Fix: have SLURM's commands on PATH of the job.")


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
    own, size = nodes.index(name_node(environ)), given.ranks // len(nodes)
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
        return [*_PROCESS]
    return [
        *(*_TORCHRUN, f"--nnodes={len(nodes)}", f"--nproc-per-node={size}", f"--node-rank={own}"),
        *("--rdzv-backend=static", f"--rdzv-endpoint={nodes[0]}:{given.port}"),
        f"--rdzv-id={environ['SLURM_JOB_ID']}-{given.site}",
    ]


if __name__ == "__main__":
    main()
