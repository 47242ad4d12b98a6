"""The records in a run's folder, each by its type; `host.folders` has their names.

Each function raises a RecordError if its record is missing or broken.
"""

from __future__ import annotations

from pathlib import Path

from rekindle.host import folders

from .acceptance import Clock
from .base import read
from .finding import Ladder
from .run import Ended, LeftBehind, Progress, RunSpec
from .verdict import VerdictRecord


def spec_in(run_dir: Path) -> RunSpec:
    """Return what the run was to do."""
    return read(run_dir / folders.SPEC, RunSpec)


def progress_in(run_dir: Path) -> Progress:
    """Return how far the run is."""
    return read(run_dir / folders.PROGRESS, Progress)


def ended_in(run_dir: Path) -> Ended:
    """Return how the run ended."""
    return read(run_dir / folders.ENDED, Ended)


def verdict_in(run_dir: Path) -> VerdictRecord:
    """Return the verdict that lies in the folder: the host's there, ours at home."""
    return read(run_dir / folders.VERDICT, VerdictRecord)


def ladder_in(run_dir: Path) -> Ladder:
    """Return which steps below a failed run hold."""
    return read(run_dir / folders.LADDER_RECORD, Ladder)


def left_in(run_dir: Path) -> LeftBehind:
    """Return what of a run that is home stayed on the host."""
    return read(run_dir / folders.LEFT, LeftBehind)


def clock_in(run_dir: Path) -> Clock:
    """Return how far the host's clock was from ours as the run came home."""
    return read(run_dir / folders.CLOCK, Clock)
