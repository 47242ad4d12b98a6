# SPDX-License-Identifier: Apache-2.0
"""What a federation is on its hosts, for a terminal."""

from rekindle.records.text import fold_line
from rekindle.report.table import format_grid
from rekindle.results.row import format_minute

from .status import Federation, MemberState

_SHARES = {
    "host": 0.16,
    "is": 0.2,
    "NVFlare": 1.0,
    "valid until": 1.0,
    "authority": 1.0,
    "keys": 0.12,
    "clock": 1.0,
}


def format_federation(federation: Federation, width: int, colour: bool) -> str:
    """Return a sentence, a row a host, and what is wrong."""
    up = [one for one in federation.hosts if one.since]
    flaws = [f"{one.host}: {flaw}." for one in federation.hosts for flaw in one.flaws]
    is_up = f"up on {len(up)} of {len(federation.hosts)} hosts" if up else "not up"
    rows = [_row(one, federation) for one in federation.hosts]
    head = f"The federation {federation.name} is {is_up}; {len(flaws) or 'nothing'} wrong."
    kits = [f"Jobs are submitted on {one.host} with the kit {one.admin}." for one in up if one.admin]
    return "\n".join([head, "", format_grid(rows, _SHARES, width, colour), *map(fold_line, (*flaws, *kits))])


def _row(one: MemberState, federation: Federation) -> dict[str, str]:
    connected = any(one.participant in other.heard for other in federation.hosts)
    up = f"{format_minute(one.since)}{', connected' if connected else ''}" if one.since else "–"
    return {
        "host": one.host,
        "is": f"{one.role} {one.participant}".strip() or "–",
        "NVFlare": one.release or "–",
        "valid until": format_minute(one.not_after) if one.not_after else "–",
        "authority": one.authority[:12] or "–",
        "keys": " ".join(one.modes) or "–",
        "clock": "–" if one.clock_s is None else f"{one.clock_s:+.1f} s",
        "up since": up,
    }
