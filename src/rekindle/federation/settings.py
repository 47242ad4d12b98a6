# SPDX-License-Identifier: Apache-2.0
"""A federation's groups in the inventory, and the setting that names its jobs."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from rekindle.settings.room import RoomSettings

from .joint import STAGE

SERVER, SITES = "flare_server", "flare_sites"


def find_federation_mistakes(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a sentence for each mistake in the hosts of a federation: names of hosts by group."""
    servers, sites = groups.get(SERVER, ()), groups.get(SITES, ())
    if len(servers) != 1:
        has = f"has {', '.join(servers)}" if servers else "has no host"
        yield f"The group {SERVER} {has}, and a federation has one server. Fix: put one host into it."
    if not sites:
        yield f"The group {SITES} has no host, and a federation has sites. Fix: put the sites' hosts into it."
    for host in sorted({*servers} & {*sites}):
        yield f"{host} is in {SERVER} and in {SITES}. Fix: take it out of one, or lease another host."
    names: dict[str, str] = {}
    for host in sites:
        name = re.sub(r"[^A-Za-z0-9_-]", "-", host)  # as roles/provision has it
        if (other := names.setdefault(name, host)) != host:
            yield f"The sites {other} and {host} are both {name} to NVFlare. Fix: rename one."


def name_role(groups: Collection[str]) -> str:
    """Return what a host in these groups is: ``server``, ``site`` or nothing."""
    return "server" if SERVER in groups else "site" if SITES in groups else ""


SETTINGS = RoomSettings(
    stage=STAGE, jobs="rekindle_federation_jobs", find_role=name_role, check_groups=find_federation_mistakes
)
