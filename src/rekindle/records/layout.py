# SPDX-License-Identifier: Apache-2.0
"""The records in a run's folder, and in a host's folder of results, by type; `host.folders` has their names.

Each function takes the folder, and raises a RecordError if its record is missing or broken.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from rekindle.host import folders

from . import stages
from .acceptance import AcceptanceRecord
from .base import RecordT, read_record
from .finding import Ladder
from .host import HostRecord
from .plan import PlanRecord
from .run import Clock, LeftBehind, Progress, RunEnd, RunSpec
from .verdict import VerdictRecord


def make_reader(name: str, kind: type[RecordT]) -> Callable[[Path], RecordT]:
    """Return what reads the record of that ``name`` in a folder."""
    return lambda folder: read_record(folder / name, kind)


spec_in = make_reader(folders.SPEC, RunSpec)
progress_in = make_reader(folders.PROGRESS, Progress)
ended_in = make_reader(folders.ENDED, RunEnd)
verdict_in = make_reader(folders.VERDICT, VerdictRecord)
ladder_in = make_reader(folders.LADDER_RECORD, Ladder)
left_in = make_reader(folders.LEFT, LeftBehind)
clock_in = make_reader(folders.CLOCK, Clock)

play_in = make_reader(folders.PLAY_RECORD, stages.PlaybookRecord)
lease_in = make_reader(folders.LEASE_RECORD, stages.LeaseRecord)
host_in = make_reader(folders.HOST_RECORD, HostRecord)
"""What the host is; of a cluster, the node that its batch system gave."""
login_in = make_reader(folders.LOGIN_RECORD, HostRecord)
"""What the login node of a cluster is."""
plan_in = make_reader(folders.PLAN_RECORD, PlanRecord)
env_in = make_reader(folders.ENV_RECORD, stages.EnvRecord)
standing_in = make_reader(folders.STANDING_RECORD, stages.StandingRecord)
images_in = make_reader(folders.IMAGES_RECORD, stages.ImagesRecord)
acceptance_in = make_reader(folders.ACCEPTANCE_RECORD, AcceptanceRecord)
outcome_in = make_reader(folders.OUTCOME_RECORD, stages.Outcome)
refusal_in = make_reader(folders.REFUSAL_RECORD, stages.Outcome)
"""Why the host would leave a play, as a check found."""
retired_in = make_reader(folders.RETIRED_RECORD, stages.RetiredRecord)


def list_fabrics(results: Path, hosts: Iterable[str]) -> list[Path]:
    """Return the fabric records that are there: of the hosts together, and of the allocation of each."""
    paths = [results / host / folders.FABRIC_RECORD for host in ("", *hosts)]
    return [path for path in paths if path.is_file()]
