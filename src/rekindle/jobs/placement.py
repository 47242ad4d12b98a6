# SPDX-License-Identifier: Apache-2.0
"""Which site gets which GPUs: a pure function of the host and the job."""

import re
from itertools import combinations, starmap

from msgspec.structs import replace

from rekindle.gpus.visibility import find_usable_gpus
from rekindle.host.instances import is_instance
from rekindle.records import Complaint, Gpu, HostRecord, Job, Site, VerdictKind
from rekindle.solver.catalogue import load_rules

_LINK_RANK = {"PIX": 5, "PXB": 4, "PHB": 3, "NODE": 2, "SYS": 1}
"""Topology words of ``nvidia-smi topo -m``, nearest first; any NVLink (``NV18``) is nearer still."""
_NVLINK = 10


class NoRunError(Complaint):
    """Why a job does not run; the verdict without a run."""

    verdict: VerdictKind


class PlacementError(NoRunError):
    """The job cannot run on this host."""

    verdict = "UNSUPPORTED"


def assign_gpus(job: Job, host: HostRecord) -> tuple[Site, ...]:
    """Give each site of ``job`` its GPUs on ``host``.

    Sites get disjoint sets, linked as closely as the host allows; all sites of a job that is not told which
    get the same set. On a host with too few GPUs for that, the job decides (``when_short_of_gpus``): its
    sites share GPUs, at the same time or in turns, with at most as many ranks as GPUs, or each gets fewer
    GPUs. A host without GPUs runs the ranks as processes on CPU, except for a job that needs a GPU. Over
    several nodes of an allocation a site has as many ranks on each; one of TensorFlow's has one without GPUs.
    A site on a MIG instance has one rank there.

    Raises:
        PlacementError: too few GPUs for what the job allows; the message has how many are missing.
    """
    if host.allocation and not job.federated:
        raise PlacementError(
            f"{job.name} measures a host's own GPUs, and {host.host} is a login node "
            f"({host.allocation.setting}).",
            "Leave it out of rekindle_jobs, and run `rekindle accept --prolog` on each node.",
        )
    names = [f"site-{number}" for number in range(1, job.sites + 1)]
    gpus = [gpu for gpu in find_usable_gpus(host) if gpu.uuid]
    needed = job.example.gpus if job.example else 0
    if len(gpus) < needed:
        raise PlacementError(
            f"{job.name} needs {needed} GPUs and {host.host} has {len(gpus) or 'none'}.",
            f"Run it on a host with {needed} GPUs.",
        )
    if job.federated and any(is_instance(gpu.uuid) for gpu in gpus):
        job = _fit_instances(job, host)
    nodes = host.allocation.nodes if host.allocation else 1
    if host.allocation and nodes > 1 and job.federated and not job.assigns_gpus:
        raise PlacementError(
            f"{job.name} starts the ranks of a site on one node, "
            f"and {host.allocation.setting} asks for {nodes}.",
            "Ask for nodes: 1.",
        )
    if not gpus:
        one_replica = nodes > 1 and job.environment == "tensorflow"  # as MultiWorkerMirroredStrategy has it
        ranks = (1 if one_replica else job.ranks_per_site) * nodes
        return tuple(Site(name=name, ranks=ranks, gpus=()) for name in names)
    least = job.sites * (1 if job.when_short_of_gpus == "fewer" else job.ranks_per_site)
    if job.example and not {"{gpus}", "{devices}"} & {*job.example.command}:  # all sites see the same set
        sets = _nearest_sets(gpus, 1, min(job.ranks_per_site, len(gpus)), host) * job.sites
    elif len(gpus) >= least:
        sets = _nearest_sets(gpus, job.sites, min(job.ranks_per_site, len(gpus) // job.sites), host)
    elif job.when_short_of_gpus in {"share", "turns"}:
        size = min(job.ranks_per_site, len(gpus))
        starts = range(0, job.sites * size, size)
        sets = [[gpus[(start + rank) % len(gpus)] for rank in range(size)] for start in starts]
    else:
        raise PlacementError(
            f"{job.name} needs {least} GPUs ({job.sites} sites × {least // job.sites}) and {host.host} has "
            f"{len(gpus)}: {least - len(gpus)} missing.",
            f"Run it on a host with {least} GPUs, or let its sites take turns with "
            "`when_short_of_gpus: turns` in job.yml.",
        )
    return tuple(
        Site(name=name, ranks=len(chosen) * nodes, gpus=tuple(gpu.uuid or "" for gpu in chosen))
        for name, chosen in zip(names, sets, strict=True)
    )


def _fit_instances(job: Job, host: HostRecord) -> Job:
    """Return ``job`` with one rank a site: a process has one MIG instance, and NCCL joins no two of a GPU."""
    if host.allocation:
        raise PlacementError(
            f"The nodes of {host.host} have MIG instances, and a run in an allocation names whole GPUs.",
            f"Have {host.allocation.setting} ask for nodes with whole GPUs.",
        )
    if job.ranks_per_site > 1 and job.when_short_of_gpus == "unsupported":
        raise PlacementError(
            f"{job.name} needs {job.ranks_per_site} ranks a site, and {host.host} has MIG instances, which "
            "NCCL does not join.",
            "Give it one rank a site (`ranks_per_site: 1`, or `when_short_of_gpus: fewer` in job.yml), or "
            "run it on a host with whole GPUs.",
        )
    if any("{gpus}" in word for word in job.command):
        raise PlacementError(
            f"{job.name} takes GPUs by their indices, and the MIG instances of {host.host} have none.",
            "Let it take their UUIDs ({devices} in place of {gpus}), or run it on a host with whole GPUs.",
        )
    return replace(job, ranks_per_site=1)


def _nearest_sets(gpus: list[Gpu], count: int, size: int, host: HostRecord) -> list[list[Gpu]]:
    """Return ``count`` disjoint sets, each the most closely linked of the GPUs that are left."""
    left, sets = list(gpus), []
    positions = {gpu.index: position for position, gpu in enumerate(host.gpus)}

    def link(a: Gpu, b: Gpu) -> int:
        word = host.topology[positions[a.index]][positions[b.index]] if host.topology else ""
        return _NVLINK if word.startswith("NV") else _LINK_RANK.get(word, 0)

    def nearness(chosen: tuple[Gpu, ...]) -> int:
        return min(starmap(link, combinations(chosen, 2)), default=0)

    for _ in range(count):
        chosen = max(combinations(left, size), key=nearness)
        sets.append(list(chosen))
        left = [gpu for gpu in left if gpu not in chosen]
    return sets


def cut_minor(version: str) -> str | None:
    """Return ``2.7`` of ``2.7.2-2-g8b25406a6``; None if it is no version."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else None


def require_release(job: Job, nvflare: str | None) -> None:
    """Require an example to be described for the release that the host gets.

    Args:
        job: others are of every release.
        nvflare: None for the usual one.

    Raises:
        PlacementError: it is described for others.
    """
    usual = load_rules().nvflare.version
    if job.example and job.example.folder and cut_minor(nvflare or usual) not in job.example.releases:
        described = " and ".join(job.example.releases)
        at = f"rekindle_nvflare at {usual}" if cut_minor(usual) in job.example.releases else "it out"
        raise PlacementError(
            f"{job.name} is described for NVFlare {described}, and the host gets {nvflare or usual}.",
            f"Leave {at}, or describe it for that release in flare_jobs/examples/{job.name}.yml.",
        )
