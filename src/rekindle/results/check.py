"""What would be done on each host, from the records that ``--check`` left."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec

from rekindle.host import folders
from rekindle.host.places import JOBS
from rekindle.jobs import foresee, lease, load_planned
from rekindle.records import PlannedEnvironment
from rekindle.records.folders import standing_in

from .gather import HostResults, gather


class EnvironmentCheck(msgspec.Struct):
    """A framework's environment."""

    planned: PlannedEnvironment
    there: bool | None
    """Whether the host has it already; None where nobody looked."""


class JobCheck(msgspec.Struct):
    """A job, in the order in which it would run."""

    job: str
    required: bool
    about_s: int
    """Seconds that it takes on what it is meant for."""
    refusal: str | None
    """Why it cannot run on the host."""
    in_time: bool | None
    """Whether it ends within the lease and what SLURM is asked for; None if neither is, or it cannot run."""


class HostCheck(msgspec.Struct):
    """What would be done on a host."""

    host: str
    word: Literal["ready", "refused"]
    cause: str | None
    """Of a refusal."""
    environments: list[EnvironmentCheck]
    wheels_mb: int | None
    """To be brought from a wheelhouse, at most; None if the host fetches what it needs itself."""
    fetch_mb: int | None
    """To be fetched from a package index, at most; None from a wheelhouse, or where nobody can tell."""
    jobs: list[JobCheck]
    lease_left_s: int | None
    """None if no end of the lease is set."""
    lease_suffices: bool | None
    """For every job that can run, without the time to build."""


class CheckData(msgspec.Struct):
    """What would be done, and whether nothing is in its way on any host."""

    schema: Literal["rekindle/check/1"]
    ready: bool
    hosts: list[HostCheck]


def check(folder: Path) -> CheckData:
    """Return what the records in a folder of results say would be done on the hosts of its latest playbook.

    Raises:
        RecordError: run.json or a job.yml cannot be read.
    """
    results = gather(folder)
    began, asked = results.playbook.latest, results.playbook.asked
    latest = max(began.values(), default=None)
    hosts = [
        _host(folder / host.name, host, asked.get(host.name))
        for host in results.hosts
        if began.get(host.name) == latest
    ]
    return CheckData("rekindle/check/1", bool(hosts) and all(host.word == "ready" for host in hosts), hosts)


def _host(home: Path, host: HostResults, asked: str | None) -> HostCheck:
    flaw = next((row.cause for row in host.rows if row.kind == "UNPROVEN" and row.job is None), None)
    cause = host.outcome.says if host.outcome else flaw
    if not cause and not host.host and asked != "retire":
        cause = "It was not read. Fix: see the errors above."
    standing = standing_in(home) if (home / folders.STANDING_RECORD).exists() else None
    timed = (home / folders.LEASE_RECORD).exists()
    left_s = lease.left_s(home, datetime.now(timezone.utc)) if timed else None
    jobs, limited = [], left_s is not None
    if host.host and host.plan:
        limited = limited or host.host.slurm is not None
        jobs = foresee(load_planned(JOBS, host.plan), host.host, host.plan, left_s)
    return HostCheck(
        host=host.name,
        word="refused" if cause else "ready",
        cause=cause,
        environments=[
            EnvironmentCheck(environment, environment.framework in standing.standing if standing else None)
            for environment in (host.plan.environments if host.plan else ())
        ],
        wheels_mb=standing.wheels_mb if standing else None,
        fetch_mb=standing.fetch_mb if standing else None,
        jobs=[
            JobCheck(
                job=foreseen.job.name,
                required=foreseen.job.required,
                about_s=foreseen.job.expected_s,
                refusal=foreseen.refusal,
                in_time=foreseen.late is None if limited and not foreseen.refusal else None,
            )
            for foreseen in jobs
        ],
        lease_left_s=None if left_s is None else max(round(left_s), 0),
        lease_suffices=None if left_s is None else not any(foreseen.late for foreseen in jobs),
    )
