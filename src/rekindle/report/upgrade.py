# SPDX-License-Identifier: Apache-2.0
"""What an upgrade of NVFlare changes, as a table for a terminal."""

from rekindle.records.text import one_line
from rekindle.results.upgrade import Upgrade, UpgradedJob

from .table import grid

_SHARES = {"job": 0.15, "host": 0.15, "before": 1.0, "verdict": 1.0}


def upgrade_text(found: Upgrade, width: int, colour: bool) -> str:
    """Return it at most ``width`` columns wide, with what would break first."""
    rows = [
        {
            "job": job.job or "–",
            "host": job.host,
            "before": job.before,
            "verdict": job.after,
            "what": _what(job),
        }
        for job in sorted(found.jobs, key=lambda job: not job.breaks)
    ]
    passed = [job for job in found.jobs if job.before == "PASS"]
    broken = [f"{job.job} on {job.host}" for job in passed if job.breaks]
    kept = f"{len(passed) - len(broken)} of {len(passed)} that pass with NVFlare {found.before}"
    ending = f" It would break: {', '.join(broken)}." if broken else ""
    lines = [f"{kept} pass with {found.after}.{ending}", *found.results]
    return "\n".join(filter(None, [grid(rows, _SHARES, width, colour), *map(one_line, lines)]))


def _what(job: UpgradedJob) -> str:
    shown = [
        f"{of.worse}: " * bool(of.worse) + f"{of.name} {of.before:.4g} → {of.after:.4g} {of.unit}".rstrip()
        for of in job.figures
        if of.unit or of.before != of.after
    ]
    return " ".join(filter(None, (None if job.after == "PASS" else job.cause, "; ".join(shown))))
