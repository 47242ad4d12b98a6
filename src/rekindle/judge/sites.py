"""Which sites the checks of a run are about: as the job named them, and as many as it went on with."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from rekindle.flare.announced import sites
from rekindle.flare.lost import joined, lost_sites
from rekindle.flare.workspace import Workspace
from rekindle.host import files, folders
from rekindle.records import RunSpec

NEVER = -1
"""In place of a round, of a site that did not join."""
_PRINTED = 1 << 24


def as_announced(spec: RunSpec, workspace: Workspace) -> RunSpec:
    """Return ``spec`` with the names that an example gave its sites."""
    names = sites(workspace) if spec.job.example else []
    if len(names) != len(spec.sites) or {*names} == {site.name for site in spec.sites}:
        return spec
    named = (replace(site, name=name) for site, name in zip(spec.sites, names, strict=True))
    return replace(spec, sites=tuple(named))


def gone_sites(spec: RunSpec, folder: Path, workspace: Workspace) -> dict[str, int]:
    """Return the sites that left a federation's run, or never joined it, and in which round, from 0."""
    if not spec.federated:
        return {}
    came: Collection[str] = ()
    with suppress(OSError):
        came = joined(files.end(folder / folders.JOB_LOG, _PRINTED).decode("utf-8", "replace").split("\n"))
    seen = {*came, *workspace.sites}
    absent = {site.name: NEVER for site in spec.sites if came and site.name not in seen}
    return absent | lost_sites(workspace)


def without(spec: RunSpec, gone: Collection[str]) -> RunSpec:
    """Return ``spec`` without the sites that are gone, if its inventory lets the job go on without them."""
    least = spec.participant.min_sites if spec.participant else len(spec.sites)
    if not gone or len(spec.sites) - len(gone) < least:
        return spec
    hosts = {site.node for site in spec.sites if site.name in gone}
    stayed = tuple(site for site in spec.sites if site.name not in gone)
    nodes = tuple(node for node in spec.nodes if node not in hosts)
    return replace(spec, sites=stayed, nodes=nodes)
