# SPDX-License-Identifier: Apache-2.0
"""A run's SLURM allocation: its nodes and GPUs, and the end of its steps."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from rekindle.driver.places import PlaceError
from rekindle.host import folders
from rekindle.host.queues import QueueError
from rekindle.host.variables import name_machine
from rekindle.records import RunSpec, Site, write_record

from .commands import read_output
from .steps import order_nodes

ASKING_S = 60
"""How long SLURM may take to answer."""
_GPUS = ("nvidia-smi", "--query-gpu=uuid,name", "--format=csv,noheader")


def take_allocation(run_dir: Path, spec: RunSpec, count: int) -> RunSpec:
    """Return the spec of a run with the nodes, ``count`` of them, and GPUs of the allocation of this process.

    The first node is this one, where the driver runs; ``spec`` has the GPUs of the node that preflight saw.

    Raises:
        PlaceError: SLURM does not answer, or gave less than was asked for.
    """
    try:
        nodes = order_nodes(os.environ)
    except QueueError as error:
        raise PlaceError(str(error)) from error
    if len(nodes) != count:
        raise PlaceError(f"SLURM gave {len(nodes)} nodes, {', '.join(nodes)}, of {count}.")
    given = replace(spec, nodes=nodes if len(nodes) > 1 else ())
    if any(site.gpus for site in spec.own_sites):
        given = _with_gpus(given, nodes)
    write_record(run_dir / folders.SPEC, given)
    return given


def _with_gpus(spec: RunSpec, nodes: tuple[str, ...]) -> RunSpec:
    """Give each site on every node the GPUs that stand where it was given them on the one that was seen."""
    seen = sorted(gpu.uuid for gpu in spec.gpus)
    planned = {gpu.name for gpu in spec.gpus}
    by_node: dict[str, list[str]] = {}
    for node_name in nodes:
        found = _gpus(node_name)
        if len(found) < len(seen):
            raise PlaceError(
                f"{node_name} has {len(found)} GPUs for this job, and the run needs {len(seen)}."
            )
        if others := sorted(set(found.values()) - planned):
            kinds = " and ".join(sorted(map(str, planned)))
            raise PlaceError(
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
    command = _GPUS if name == name_machine(os.environ) else (*srun, *_GPUS)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=ASKING_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PlaceError(f"{command[0]} does not report what the run was given: {error}") from error
    words = (line.partition(",") for line in done.stdout.splitlines() if line.strip())
    return {uuid.strip(): kind.strip() for uuid, _, kind in words}


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
                cancelled = read_output("scancel", *how, *running, limit_s=_END_LIMIT_S) is not None
            time.sleep(_LOOK_S)


def _running(name: str) -> list[str] | None:
    """Return the allocation's steps with such a name, as in ``17.2``; None if SLURM does not answer."""
    if not shutil.which("squeue"):
        return []
    job = os.environ.get("SLURM_JOB_ID", "")
    words = ("squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j")
    answer = read_output(*words, limit_s=_END_LIMIT_S)
    lines = [line.strip().partition(" ") for line in (answer or "").splitlines()]
    return None if answer is None else [step for step, _, called in lines if called.startswith(name)]
