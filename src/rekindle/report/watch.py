# SPDX-License-Identifier: Apache-2.0
"""A run while it goes on: a table for a terminal, and a line a change."""

from datetime import datetime

from rekindle.records import parse_time
from rekindle.records.text import fold_line, format_duration
from rekindle.results.causes import group_causes, rank_kind
from rekindle.results.progress import HostProgress, RunProgress

from .answer import format_brief, summarise_answer
from .table import format_grid

_SHARES = {"host": 0.2, "stage": 1.0, "job": 0.2, "verdicts": 0.2, "lease": 1.0}
_AROUND = 5
"""Lines above and below the hosts."""


def format_watch(run: RunProgress, width: int, height: int, colour: bool) -> str:
    """Return the answer so far, the hosts on which something goes on, and failures, on ``height`` lines.

    Args:
        run: as it is.
        width: of the terminal, 60 or more.
        height: of the terminal.
        colour: whether verdicts are coloured.
    """
    failures = list(format_brief(group_causes(run.results.rows), width, colour))[: height // 3]
    going = sorted((of for of in run.hosts if of.stage), key=lambda of: rank_kind(of.verdict))
    room = max(height - len(failures) - _AROUND, 1)
    rows = [_row(of, run.at) for of in going[:room]]
    lefts = [left for of in going if (left := _left_s(of, run.at)) is not None]
    lease = f" The first lease ends in {format_duration(min(lefts))}." if lefts else ""
    more = f"and {len(going) - room} more hosts" if len(going) > room else ""
    table = format_grid(rows, _SHARES, width, colour)
    return "\n".join(filter(None, (f"{summarise_answer(run.results)}{lease}", table, more, *failures)))


def format_change(of: HostProgress, at: datetime) -> str:
    """Return a line about a host that has changed: ``09:12:05 gpu-1 validate pt_ddp: round 2/3``."""
    where = " ".join(filter(None, (of.host, of.stage or of.verdict, of.job)))
    message = f": {of.message}" if of.message else ""
    return fold_line(f"{at.astimezone():%H:%M:%S} {where}{message}")


def _row(of: HostProgress, now: datetime) -> dict[str, str]:
    return {
        "host": of.host,
        "stage": of.stage or "",
        "job": of.job or "–",
        "verdicts": ", ".join(f"{of.verdicts[kind]} {kind}" for kind in sorted(of.verdicts, key=rank_kind)),
        "lease": format_duration(_left_s(of, now)),
        "how far": of.message or "–",
    }


def _left_s(of: HostProgress, now: datetime) -> float | None:
    if of.lease_ends is None:
        return None
    return max((parse_time(of.lease_ends) - now).total_seconds(), 0)
