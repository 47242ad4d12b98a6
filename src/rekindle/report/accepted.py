"""What acceptance found, for a terminal."""

from __future__ import annotations

from rekindle.records.text import one_line
from rekindle.results.accepted import Accepted

from .table import grid

_SHARES = {"host": 0.16, "verdict": 1.0}


def accepted_text(told: Accepted, width: int, colour: bool) -> str:
    """Return the hosts that are not PASS, what was found of each, and the worst three GPUs."""
    bad = [one for one in told.hosts if one.verdict != "PASS"]
    rows = [
        {"host": one_line(one.host), "verdict": one.verdict, "cause": one_line(one.cause or "")}
        for one in bad
    ]
    found = [
        one_line(f"{flaw.host}: {flaw.verdict or 'said'}: {flaw.says} Fix: {flaw.remedy}")
        for host in told.hosts
        for flaw in host.flaws
    ]
    parts = [
        f"{len(told.hosts) - len(bad)} of {len(told.hosts)} hosts PASS.",
        grid(rows, _SHARES, width, colour) if rows else "",
        "\n".join(found),
        worst_text(told),
        "\n".join(map(one_line, told.unread)),
    ]
    return "\n\n".join(filter(None, parts))


def worst_text(told: Accepted) -> str:
    """Return the worst three GPUs, a line each; nothing where none is below a median."""
    lines = [
        f"  {one_line(f'{one.host}: {one.says}')}, {one.worse:.1%} worse than the median"
        + ("" if one.bad else ", which is within limits")
        for one in told.worst
    ]
    return "\n".join(["The worst GPUs:", *lines]) if lines else ""
