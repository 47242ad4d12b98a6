"""Sites that NVFlare's server lost while a job ran."""

import re

from .log import read_records
from .workspace import SERVER, Workspace

_ROUND = re.compile(r"Round (\d{1,9}) started\.")
_DEAD = re.compile(r"Client (\S{1,200}) is deemed disconnected!$")


def lost_site(message: str) -> str | None:
    """Return the site that a message of the server's gives up."""
    dead = _DEAD.match(message)
    return dead[1] if dead else None


def lost_sites(workspace: Workspace) -> dict[str, int]:
    """Return the sites that the server gave up, and in which round, from 0."""
    lost: dict[str, int] = {}
    current = 0
    for record in read_records(workspace, SERVER):
        for line in (record.message, *record.more):
            if started := _ROUND.search(line):
                current = int(started[1])
        if site := lost_site(record.message):
            lost.setdefault(site, current)
    return lost
