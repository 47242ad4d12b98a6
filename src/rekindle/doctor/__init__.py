"""From the text of a run to the cause of its failure.

The catalogue is data: ``catalogue.json`` has one entry a known failure, with the pattern that shows it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from rekindle.evidence import read_lines
from rekindle.records.events import ExceptionEvent

_LOGS = ("job/workspace/*/site-*/log.txt", "job.log", "driver.log")


class Finding(NamedTuple):
    """What went wrong and what to do about it, a sentence each."""

    cause: str
    remedy: str


class _Entry(NamedTuple):
    pattern: re.Pattern[str]
    cause: str
    remedy: str


@cache
def _catalogue() -> tuple[_Entry, ...]:
    entries = json.loads(files(__package__).joinpath("catalogue.json").read_text(encoding="utf-8"))
    return tuple(_Entry(re.compile(one["pattern"]), one["cause"], one["remedy"]) for one in entries)


def diagnose(run_dir: Path) -> Finding | None:
    """Return the first cause that the run's evidence or logs show, if any does.

    A trainer's own exception comes first: everything that follows it is an echo.
    """
    raised = [one.event for one in read_lines(run_dir) if isinstance(one.event, ExceptionEvent)]
    if raised:
        first = min(raised, key=lambda event: event.time)
        text = f"{first.kind}: {first.message}".rstrip(": ")
        known = _match(text)
        cause = f"{first.site} rank {first.rank} raised {text} at {first.place}."
        return Finding(cause, known.remedy if known else f"Mend what raises at {first.place}.")
    for pattern in _LOGS:
        for path in sorted(run_dir.glob(pattern)):
            known = _match(path.read_text(encoding="utf-8", errors="replace"))
            if known:
                return Finding(f"{known.cause} ({path.relative_to(run_dir)})", known.remedy)
    return None


def _match(text: str) -> Finding | None:
    for entry in _catalogue():
        match = entry.pattern.search(text)
        if match:
            return Finding(entry.cause.format(**match.groupdict()), entry.remedy)
    return None
