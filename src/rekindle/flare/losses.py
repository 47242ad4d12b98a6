# SPDX-License-Identifier: Apache-2.0
"""Sites that joined NVFlare's server, and those that it lost while a job ran."""

import re
from collections import Counter
from collections.abc import Collection, Iterable

from .log import read_records
from .workspace import SERVER, Workspace

_JOINED = re.compile(r"New client (\S{1,200})@\S{1,100} joined\.")
_ROUND = re.compile(r"Round (\d{1,9}) started\.")
_DEAD = re.compile(r"Client (\S{1,200}) is deemed disconnected!$")
_FEWER = re.compile(r"num_clients \(\d{1,9}\) is greater than the number of available clients\.")


def count_joins(printed: Iterable[str]) -> Counter[str]:
    """Return how often each site joined, by the lines that the server's parent printed."""
    return Counter(match[1] for line in printed for match in _JOINED.finditer(line))


def find_lost_site(message: str) -> str | None:
    """Return the site that a message of the server's gives up."""
    dead = _DEAD.match(message)
    return dead[1] if dead else None


def is_about_lost(message: str, lost: Collection[str]) -> bool:
    """Return whether an error that the server logs is about the sites that a run goes on without."""
    return find_lost_site(message) in lost or bool(lost and _FEWER.search(message))


def find_lost_sites(workspace: Workspace) -> dict[str, int]:
    """Return the sites that the server gave up, and in which round, from 0."""
    lost: dict[str, int] = {}
    current = 0
    for record in read_records(workspace, SERVER):
        for line in (record.message, *record.more):
            if started := _ROUND.search(line):
                current = int(started[1])
        if site := find_lost_site(record.message):
            lost.setdefault(site, current)
    return lost
