# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the inventory's groups of a federation."""

import re
from collections.abc import Iterator, Mapping, Sequence

SERVER, SITES = "flare_server", "flare_sites"


def find_group_mistakes(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
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
        name = name_participant(host)
        if (other := names.setdefault(name, host)) != host:
            yield f"The sites {other} and {host} are both {name} to NVFlare. Fix: rename one."


def name_participant(host: str) -> str:
    """Return NVFlare's name of a site, as roles/provision has it: of letters, digits, - and _ alone."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", host)
