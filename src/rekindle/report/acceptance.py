# SPDX-License-Identifier: Apache-2.0
"""The results of acceptance, for a terminal."""

from rekindle.records.text import fold_line
from rekindle.results.acceptance import FleetAcceptance

from .table import format_grid


def format_acceptance(accepted: FleetAcceptance, width: int, colour: bool) -> str:
    """Return the hosts that are not PASS, their flaws, and the worst three GPUs."""
    bad = [host for host in accepted.hosts if host.verdict != "PASS"]
    rows = [
        {"host": host.host, "verdict": host.verdict, "action": host.action, "cause": host.cause or ""}
        for host in bad
    ]
    flaws = [
        fold_line(f"{flaw.host}: {flaw.verdict or 'noted'}, {flaw.action}: {flaw.message} Fix: {flaw.remedy}")
        for host in accepted.hosts
        for flaw in host.flaws
    ]
    parts = [
        f"{len(accepted.hosts) - len(bad)} of {len(accepted.hosts)} hosts PASS." if accepted.hosts else "",
        format_grid(rows, {"host": 0.16, "verdict": 1.0, "action": 1.0}, width, colour),
        "\n".join(flaws),
        format_worst(accepted),
        "\n".join(map(fold_line, accepted.unread)),
    ]
    return "\n\n".join(filter(None, parts))


def format_worst(accepted: FleetAcceptance) -> str:
    """Return the worst three GPUs, a line each; nothing where none is below a median."""
    lines = [
        f"  {fold_line(f'{gpu.host}: {gpu.message}')}, {gpu.worse:.1%} worse than the median"
        + ("" if gpu.bad else ", which is within limits")
        for gpu in accepted.worst
    ]
    return "\n".join(["The worst GPUs:", *lines]) if lines else ""
