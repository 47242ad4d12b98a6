# SPDX-License-Identifier: Apache-2.0
"""The results of acceptance, for a terminal."""

from rekindle.records.text import one_line
from rekindle.results.accepted import Accepted

from .table import grid


def accepted_text(accepted: Accepted, width: int, colour: bool) -> str:
    """Return the hosts that are not PASS, their flaws, and the worst three GPUs."""
    bad = [host for host in accepted.hosts if host.verdict != "PASS"]
    rows = [{"host": host.host, "verdict": host.verdict, "cause": host.cause or ""} for host in bad]
    flaws = [
        one_line(f"{flaw.host}: {flaw.verdict or 'noted'}: {flaw.message} Fix: {flaw.remedy}")
        for host in accepted.hosts
        for flaw in host.flaws
    ]
    parts = [
        f"{len(accepted.hosts) - len(bad)} of {len(accepted.hosts)} hosts PASS.",
        grid(rows, {"host": 0.16, "verdict": 1.0}, width, colour),
        "\n".join(flaws),
        worst_text(accepted),
        "\n".join(map(one_line, accepted.unread)),
    ]
    return "\n\n".join(filter(None, parts))


def worst_text(accepted: Accepted) -> str:
    """Return the worst three GPUs, a line each; nothing where none is below a median."""
    lines = [
        f"  {one_line(f'{gpu.host}: {gpu.message}')}, {gpu.worse:.1%} worse than the median"
        + ("" if gpu.bad else ", which is within limits")
        for gpu in accepted.worst
    ]
    return "\n".join(["The worst GPUs:", *lines]) if lines else ""
