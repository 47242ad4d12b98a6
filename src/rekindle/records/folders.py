"""The records in a run's folder, each by its type; `host.folders` has their names.

Each function takes the folder, and raises a RecordError if its record is missing or broken.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rekindle.host import folders

from .acceptance import Clock
from .base import RecordT, read
from .finding import Ladder
from .run import Ended, LeftBehind, Progress, RunSpec
from .verdict import VerdictRecord


def _reader(name: str, kind: type[RecordT]) -> Callable[[Path], RecordT]:
    return lambda run_dir: read(run_dir / name, kind)


spec_in = _reader(folders.SPEC, RunSpec)
"""What the run was to do."""
progress_in = _reader(folders.PROGRESS, Progress)
"""How far the run is."""
ended_in = _reader(folders.ENDED, Ended)
"""How the run ended."""
verdict_in = _reader(folders.VERDICT, VerdictRecord)
"""The verdict that lies in the folder: the host's there, ours at home."""
ladder_in = _reader(folders.LADDER_RECORD, Ladder)
"""Which steps below a failed run hold."""
left_in = _reader(folders.LEFT, LeftBehind)
"""What of a run that is home stayed on the host."""
clock_in = _reader(folders.CLOCK, Clock)
"""How far the host's clock was from ours as the run came home."""
