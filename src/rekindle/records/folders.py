"""The records in a run's folder, and in a host's folder of results, by type; `host.folders` has their names.

Each function takes the folder, and raises a RecordError if its record is missing or broken.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rekindle.host import folders

from .acceptance import AcceptanceRecord
from .base import RecordT, read
from .finding import Ladder
from .host import HostRecord
from .plan import PlanRecord
from .run import Clock, Ended, LeftBehind, Progress, RunSpec
from .stages import (
    EnvRecord,
    ImagesRecord,
    LeaseRecord,
    Outcome,
    PlaybookRecord,
    RetiredRecord,
    Seen,
    StandingRecord,
)
from .verdict import VerdictRecord


def _reader(name: str, kind: type[RecordT]) -> Callable[[Path], RecordT]:
    return lambda folder: read(folder / name, kind)


spec_in = _reader(folders.SPEC, RunSpec)
"""What the run was to do."""
progress_in = _reader(folders.PROGRESS, Progress)
"""How far the run is."""
ended_in = _reader(folders.ENDED, Ended)
"""How the run ended."""
verdict_in = _reader(folders.VERDICT, VerdictRecord)
"""The folder's verdict: the host's on the host, ours on the controller."""
ladder_in = _reader(folders.LADDER_RECORD, Ladder)
"""Which steps below a failed run hold."""
left_in = _reader(folders.LEFT, LeftBehind)
"""What of a run that is home stayed on the host."""
clock_in = _reader(folders.CLOCK, Clock)
"""How far the host's clock was from ours when the run was collected."""

play_in = _reader(folders.PLAY_RECORD, PlaybookRecord)
"""Which hosts a results folder is of."""
lease_in = _reader(folders.LEASE_RECORD, LeaseRecord)
"""Until when everything has to be on the controller."""
host_in = _reader(folders.HOST_RECORD, HostRecord)
"""What the host is; of a SLURM cluster, the node that SLURM gave."""
login_in = _reader(folders.LOGIN_RECORD, HostRecord)
"""What the login node of a SLURM cluster is."""
plan_in = _reader(folders.PLAN_RECORD, PlanRecord)
"""Which builds go on the host."""
env_in = _reader(folders.ENV_RECORD, EnvRecord)
"""What was built."""
standing_in = _reader(folders.STANDING_RECORD, StandingRecord)
"""Which environments a check found there."""
images_in = _reader(folders.IMAGES_RECORD, ImagesRecord)
"""Which container images its jobs run in."""
acceptance_in = _reader(folders.ACCEPTANCE_RECORD, AcceptanceRecord)
"""What was measured of its GPUs."""
outcome_in = _reader(folders.OUTCOME_RECORD, Outcome)
"""Why the host left a play."""
refusal_in = _reader(folders.REFUSAL_RECORD, Outcome)
"""Why the host would leave a play, as a check found."""
seen_in = _reader(folders.SEEN_RECORD, Seen)
"""How far the host was when it was last asked."""
retired_in = _reader(folders.RETIRED_RECORD, RetiredRecord)
"""What is kept of a host that Rekindle was removed from."""
