# SPDX-License-Identifier: Apache-2.0
"""Which sites the checks of a run are about: as the job named them, and as many as it went on with."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle

from msgspec.structs import replace

from rekindle.flare.configuration import read_sites
from rekindle.flare.losses import count_joins, find_lost_sites
from rekindle.flare.workspace import Workspace
from rekindle.records import RunSpec, Site

NEVER = -1
"""In place of a round, of a site that did not join."""


@dataclass(frozen=True)
class RunSites:
    """The sites of a run and those that left it."""

    all: tuple[Site, ...]
    """Those of its spec, and those that it went on without."""
    gone: Mapping[str, int]
    """Those that left a federation, with the round, from 0."""
    lost: Mapping[str, int]
    """Those of them that the run went on without."""


def name_sites(spec: RunSpec, workspace: Workspace) -> RunSpec:
    """Return ``spec`` with the names that the job gave its sites, and as many if nobody had said how many."""
    names = read_sites(workspace)
    counted = len(names) == len(spec.sites) or (names and "sites" in spec.job.assumed)
    if not counted or {*names} == {site.name for site in spec.sites}:
        return spec
    named = (replace(site, name=name) for name, site in zip(names, cycle(spec.sites), strict=False))
    return replace(spec, sites=tuple(named))


def find_gone_sites(spec: RunSpec, workspace: Workspace, printed: Iterable[str]) -> dict[str, int]:
    """Return the sites that left a federation's run, or never joined it, and in which round, from 0.

    Args:
        spec: of the run, with all sites.
        workspace: NVFlare's, with the server's log.
        printed: the lines that the server's parent printed.
    """
    came = count_joins(printed)
    seen = {*came, *workspace.sites}
    absent = {site.name: NEVER for site in spec.sites if came and site.name not in seen}
    return absent | find_lost_sites(workspace)


def drop_sites(spec: RunSpec, gone: Collection[str]) -> RunSpec:
    """Return ``spec`` without the sites that are gone, if its inventory lets the job go on without them."""
    least = spec.member.min_sites if spec.member else len(spec.sites)
    if not gone or len(spec.sites) - len(gone) < least:
        return spec
    hosts = {site.node for site in spec.sites if site.name in gone}
    stayed = tuple(site for site in spec.sites if site.name not in gone)
    nodes = tuple(node for node in spec.nodes if node not in hosts)
    return replace(spec, sites=stayed, nodes=nodes)
