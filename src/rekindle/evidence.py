"""Reads what a run left behind: events, each with its place in the run's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from rekindle.records.events import AnyEvent

_EVENT = msgspec.json.Decoder(AnyEvent)
EventT_co = TypeVar("EventT_co", covariant=True)


@dataclass(frozen=True)
class Line(Generic[EventT_co]):
    """One event, and the file (relative to the run's folder) and line where it stands."""

    event: EventT_co
    file: str
    line: int


def read_lines(run_dir: Path) -> list[Line[AnyEvent]]:
    """Return what trainers, job.py, the server and the driver wrote, in file and line order.

    A line that is no event (cut off as its process died) is left out: what it would prove stays unproven.
    """
    return [Line(event, file, number) for file, number, event in _lines(run_dir) if event is not None]


def unreadable_lines(run_dir: Path) -> list[tuple[str, int]]:
    """Return file and line of each line that is no event, but for one at the end of samples.jsonl.

    That one the driver was writing as the file was copied.
    """
    told = list(_lines(run_dir))
    last = {file: number for file, number, _ in told}
    return [
        (file, number)
        for file, number, event in told
        if event is None and (file != "samples.jsonl" or number < last[file])
    ]


def _lines(run_dir: Path) -> Iterator[tuple[str, int, AnyEvent | None]]:
    for path in [*sorted((run_dir / "evidence").glob("*.jsonl")), run_dir / "samples.jsonl"]:
        if not path.exists():
            continue
        file = path.relative_to(run_dir).as_posix()
        for number, text in enumerate(path.read_bytes().splitlines(), 1):
            try:
                yield file, number, _EVENT.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield file, number, None


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
