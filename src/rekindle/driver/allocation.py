# SPDX-License-Identifier: Apache-2.0
"""A run's SLURM allocation: its nodes and GPUs, and the end of its steps."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import batch, folders, slurm
from rekindle.host.slurm import node
from rekindle.records import RunSpec, Site, write
from rekindle.trainer.slurm import nodes_by_rank

_LIMIT_S = 60
_GPUS = ("nvidia-smi", "--query-gpu=uuid,name", "--format=csv,noheader")


class AllocationError(RuntimeError):
    """The allocation does not fit the run, or a node of it takes no part; one sentence."""


def allocated(run_dir: Path, spec: RunSpec) -> RunSpec:
    """Return the spec of a run with the nodes and GPUs of the allocation that this process is in, if of any.

    The first node is this one, where the driver runs; ``spec`` has the GPUs of the node that preflight saw.

    Raises:
        AllocationError: SLURM does not answer, or gave less than was asked for.
    """
    if spec.slurm is None:
        return spec
    try:
        nodes = nodes_by_rank(os.environ)
    except (OSError, subprocess.SubprocessError) as error:
        raise AllocationError(f"scontrol does not report what the run was given: {error}") from error
    if len(nodes) != spec.slurm.nodes:
        raise AllocationError(f"SLURM gave {len(nodes)} nodes, {', '.join(nodes)}, of {spec.slurm.nodes}.")
    given = replace(spec, nodes=nodes if len(nodes) > 1 else ())
    if any(site.gpus for site in spec.own_sites):
        given = _with_gpus(given, nodes)
    write(run_dir / folders.SPEC, given)
    return given


def _with_gpus(spec: RunSpec, nodes: tuple[str, ...]) -> RunSpec:
    """Give each site on every node the GPUs that stand where it was given them on the one that was seen."""
    seen = sorted(gpu.uuid for gpu in spec.gpus)
    planned = {gpu.name for gpu in spec.gpus}
    by_node: dict[str, list[str]] = {}
    for node_name in nodes:
        found = _gpus(node_name)
        if len(found) < len(seen):
            raise AllocationError(
                f"{node_name} has {len(found)} GPUs for this job, and the run needs {len(seen)}."
            )
        if others := sorted(set(found.values()) - planned):
            kinds = " and ".join(sorted(map(str, planned)))
            raise AllocationError(
                f"{node_name} has {' and '.join(others)}, and the run was planned for {kinds}: "
                "select nodes by --constraint in rekindle_slurm's extra."
            )
        by_node[node_name] = sorted(found)

    def on_all(site: Site) -> Site:
        if site not in spec.own_sites:
            return site
        wanted = [seen.index(uuid) for uuid in dict.fromkeys(site.gpus)]
        return replace(site, gpus=tuple(by_node[name][number] for name in nodes for number in wanted))

    sites = tuple(on_all(site) for site in spec.sites)
    given = {by_node[name][seen.index(gpu.uuid)]: gpu for name in nodes for gpu in spec.gpus}
    gpus = tuple(replace(gpu, uuid=uuid, processes=()) for uuid, gpu in given.items())
    return replace(spec, sites=sites, gpus=gpus)


def _gpus(name: str) -> dict[str, str]:
    srun = ("srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={name}")
    command = _GPUS if name == node(os.environ) else (*srun, *_GPUS)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=_LIMIT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise AllocationError(f"{command[0]} does not report what the run was given: {error}") from error
    words = (line.partition(",") for line in done.stdout.splitlines() if line.strip())
    return {uuid.strip(): kind.strip() for uuid, _, kind in words}


_PERIOD_S = 1.0
_LEAST_S, _CONNECT_S = 60, 5


def await_server(spec: RunSpec, report: Callable[[float, str], None]) -> None:
    """Wait, as a federation's site that has its node, until the server listens: others may still have none.

    Args:
        spec: what is to be run.
        report: is called meanwhile, with the seconds so far.

    Raises:
        AllocationError: it did not listen before what is left of the allocation is the job's.
    """
    if spec.slurm is None or spec.participant is None:
        return
    at, began = (spec.participant.address, spec.participant.port), time.monotonic()
    ends = max(_LEAST_S, spec.slurm.time_s - spec.job.limit_s - batch.NOTICE_S - _LIMIT_S)
    while (waited := time.monotonic() - began) < ends:
        with suppress(OSError):
            socket.create_connection(at, timeout=_CONNECT_S).close()
            return
        report(waited, f"on {node(os.environ)}, before the server at {at[0]}:{at[1]} listens")
        time.sleep(_PERIOD_S)
    raise AllocationError(
        f"This site had its node for {ends:.0f} s, and the server at {at[0]}:{at[1]} did not listen there."
    )


_LOOK_S = 0.3
_END_LIMIT_S = 10.0


def end_steps(name: str) -> None:
    """End the allocation's steps whose names begin so, politely and then with SIGKILL."""
    for how in (("--signal=TERM",), ()):  # without one it is SIGKILL
        ends, cancelled = time.monotonic() + _END_LIMIT_S, False
        while time.monotonic() <= ends:
            running = _running(name)
            if running == []:
                return
            if running and not cancelled:
                cancelled = slurm.output("scancel", *how, *running, limit_s=_END_LIMIT_S) is not None
            time.sleep(_LOOK_S)


def _running(name: str) -> list[str] | None:
    """Return the allocation's steps with such a name, as in ``17.2``; None if SLURM does not answer."""
    if not shutil.which("squeue"):
        return []
    job = os.environ.get("SLURM_JOB_ID", "")
    words = ("squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j")
    answer = slurm.output(*words, limit_s=_END_LIMIT_S)
    lines = [line.strip().partition(" ") for line in (answer or "").splitlines()]
    return None if answer is None else [step for step, _, called in lines if called.startswith(name)]
