"""What SLURM gave a run, known only where it runs: its nodes, and the GPUs of each."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import folders
from rekindle.records import RunSpec, Site, write
from rekindle.trainer.slurm import node, nodes_by_rank

_LIMIT_S = 60
_GPUS = ("nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader")


class AllocationError(RuntimeError):
    """The allocation is not what the run needs; one sentence."""


def allocated(run_dir: Path, spec: RunSpec) -> RunSpec:
    """Return the spec of a run with the nodes and GPUs of the allocation that this process is in, if of any.

    The first node is this one, where the driver runs; ``spec`` has the GPUs of the node that preflight saw.

    Raises:
        AllocationError: SLURM does not tell, or gave less than was asked for.
    """
    if spec.slurm is None:
        return spec
    try:
        nodes = nodes_by_rank(os.environ)
    except (OSError, subprocess.SubprocessError) as error:
        raise AllocationError(f"scontrol does not tell what the run was given: {error}") from error
    if len(nodes) != spec.slurm.nodes:
        raise AllocationError(f"SLURM gave {len(nodes)} nodes, {', '.join(nodes)}, of {spec.slurm.nodes}.")
    whole = replace(spec, nodes=nodes if len(nodes) > 1 else ())
    if any(site.gpus for site in spec.sites):
        whole = _with_gpus(whole, nodes)
    write(run_dir / folders.SPEC, whole)
    return whole


def _with_gpus(spec: RunSpec, nodes: tuple[str, ...]) -> RunSpec:
    """Give each site on every node the GPUs that stand where it was given them on the one that was seen."""
    seen = sorted(gpu.uuid for gpu in spec.gpus)
    by_node = {name: sorted(_gpus(name)) for name in nodes}
    for name, uuids in by_node.items():
        if len(uuids) < len(seen):
            raise AllocationError(
                f"{name} has {len(uuids)} GPUs for this job, and the run needs {len(seen)}."
            )

    def on_all(site: Site) -> Site:
        wanted = [seen.index(uuid) for uuid in dict.fromkeys(site.gpus)]
        return replace(site, gpus=tuple(by_node[name][number] for name in nodes for number in wanted))

    sites = tuple(on_all(site) for site in spec.sites)
    given = {by_node[name][seen.index(gpu.uuid)]: gpu for name in nodes for gpu in spec.gpus}
    gpus = tuple(replace(gpu, uuid=uuid, processes=()) for uuid, gpu in given.items())
    return replace(spec, sites=sites, gpus=gpus)


def _gpus(name: str) -> list[str]:
    if name == node(os.environ):
        return _ask(*_GPUS).split()
    return _ask("srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={name}", *_GPUS).split()


def _ask(*command: str) -> str:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=_LIMIT_S
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise AllocationError(f"{command[0]} does not tell what the run was given: {error}") from error
