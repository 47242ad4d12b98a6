# SPDX-License-Identifier: Apache-2.0
"""Where each host of a run is: its stage, its job and how far that is, from the records that are there."""

from collections import Counter
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import msgspec

from rekindle.host import folders
from rekindle.records import LastProgress, Timestamp, parse_time
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.base import read_valid

from .causes import find_standing
from .contents import HostResults, Results, gather_results, locate_placed
from .joints import is_joint_stage, list_joints
from .journal import STAGES
from .row import RowKind

_BEGINS = {
    folders.HOST_RECORD: "plan",
    folders.PLAN_RECORD: "environments",
    folders.ENV_RECORD: "accept",
    folders.ACCEPTANCE_RECORD: "containers",
    folders.IMAGES_RECORD: "validate",
}
"""The stage that goes on once a record is there, in their order."""


class HostProgress(msgspec.Struct, frozen=True):
    """A host of a run."""

    host: str
    stage: str | None
    """None: nothing goes on there."""
    job: str | None
    """That runs there, or other long work."""
    message: str | None
    """How far it is; or why the host is not proven."""
    verdict: RowKind
    """The worst so far."""
    verdicts: dict[RowKind, int]
    """How many of its jobs have each."""
    lease_ends: Timestamp | None


class RunProgress(NamedTuple):
    """A run at one time."""

    at: datetime
    results: Results
    hosts: list[HostProgress]


def watch_results(folder: Path) -> RunProgress:
    """Read the run in ``folder``.

    Raises:
        RecordError: it is no results folder.
    """
    results, now = gather_results(folder), datetime.now(timezone.utc)
    hosts = [_host(folder / host.name, host, results) for host in results.hosts if host.rows]
    return RunProgress(now, results, hosts)


def _host(home: Path, host: HostResults, results: Results) -> HostProgress:
    worst = find_standing(host.rows)
    began = results.playbook.began.get(host.name, "")
    going = {row.job for row in host.rows if row.kind == "RUNNING"}
    stage = _stage(home, going, began) if going else None
    seen = read_valid(home / folders.SEEN_RECORD, LastProgress)
    if seen and (seen.at < began or not (seen.what in {stage, *going} or is_joint_stage(stage))):
        seen = None
    cause = next((row.cause for row in host.rows if row.kind == worst != "RUNNING"), None)
    return HostProgress(
        host=host.name,
        stage=stage,
        job=seen.what if seen and seen.what != stage else None,
        message=seen.message if seen else cause,
        verdict=worst,
        verdicts=dict(Counter(row.kind for row in host.rows)),
        lease_ends=host.lease_ends,
    )


def _stage(home: Path, going: set[str | None], began: Timestamp) -> str:
    """Return the stage after the last record that was written since ``began``."""
    stage = next((kind.stage for kind in list_joints() if kind.folder == home.name), STAGES[0])
    after = [_BEGINS, *(kind.begins for kind in list_joints())]
    for name, begins in (pair for table in after for pair in table.items()):
        stage = begins if _since(home / name, began) else stage
    jobs = going.difference(ACCEPTANCE.values(), [None])
    placed = any(_since(locate_placed(home, str(job)), began) for job in jobs)
    return "validate" if placed else stage


def _since(path: Path, began: Timestamp) -> bool:
    with suppress(OSError, ValueError):
        return path.stat().st_mtime >= parse_time(began).timestamp()
    return False
