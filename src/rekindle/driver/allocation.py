"""What SLURM gave a run, known only where it runs: its nodes, and the GPUs of each."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import folders
from rekindle.host.slurm import node
from rekindle.records import RunSpec, Site, write
from rekindle.trainer.slurm import nodes_by_rank

_LIMIT_S = 60
_GPUS = ("nvidia-smi", "--query-gpu=uuid,name", "--format=csv,noheader")


class AllocationError(RuntimeError):
    """The allocation is not what the run needs, or a node of it takes no part; one sentence."""


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
    if any(site.gpus for site in spec.sites):
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
                "say which nodes by --constraint in rekindle_slurm's extra."
            )
        by_node[node_name] = sorted(found)

    def on_all(site: Site) -> Site:
        wanted = [seen.index(uuid) for uuid in dict.fromkeys(site.gpus)]
        return replace(site, gpus=tuple(by_node[name][number] for name in nodes for number in wanted))

    sites = tuple(on_all(site) for site in spec.sites)
    given = {by_node[name][seen.index(gpu.uuid)]: gpu for name in nodes for gpu in spec.gpus}
    gpus = tuple(replace(gpu, uuid=uuid, processes=()) for uuid, gpu in given.items())
    return replace(spec, sites=sites, gpus=gpus)


def _gpus(name: str) -> dict[str, str]:
    """Return the names of a node's GPUs by UUID."""
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
