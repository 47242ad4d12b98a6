"""Reads what a run left behind: events, each with its place in the run's folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from rekindle.records import RecordError
from rekindle.records.events import AnyEvent, decode_event

EventT_co = TypeVar("EventT_co", covariant=True)


@dataclass(frozen=True)
class Line(Generic[EventT_co]):
    """One event, and the file (relative to the run's folder) and line where it stands."""

    event: EventT_co
    file: str
    line: int


def read_lines(run_dir: Path) -> list[Line[AnyEvent]]:
    """Return what trainers, job.py and the driver wrote, in file and line order.

    A line that is no event (cut off as its process died) is left out: what it would prove stays unproven.
    """
    lines = []
    for path in [*sorted((run_dir / "evidence").glob("*.jsonl")), run_dir / "samples.jsonl"]:
        if not path.exists():
            continue
        for number, text in enumerate(path.read_bytes().splitlines(), 1):
            try:
                event = decode_event(text)
            except RecordError:
                continue
            lines.append(Line(event, path.relative_to(run_dir).as_posix(), number))
    return lines


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
