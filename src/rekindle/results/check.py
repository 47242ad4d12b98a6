# SPDX-License-Identifier: Apache-2.0
"""What would be done on each host, from the records that ``--check`` left."""

from pathlib import Path
from typing import Literal

import msgspec

from rekindle.host import folders
from rekindle.jobs import choose_engine, foresee_jobs, lease, load_planned
from rekindle.jobs.preparation import Forecast
from rekindle.records import Complaint, HostRecord, PlannedEnvironment
from rekindle.records.action import Action
from rekindle.records.layout import standing_in

from .contents import HostResults, gather_results


class EnvironmentCheck(msgspec.Struct):
    """A framework's environment."""

    planned: PlannedEnvironment
    there: bool | None
    """Whether the host has it already; None if unknown."""


class JobCheck(msgspec.Struct):
    """A job, in the order in which it would run."""

    job: str
    container: str | None
    """The image that it runs in, and the engine: ``nvflare:1 by Podman 4.3.1``; None without."""
    required: bool
    about_s: int
    """Seconds that it takes on its usual hosts."""
    sends: str | None
    """Folder of this machine whose files each host gets with it, as its job.yml names it; None without."""
    refusal: str | None
    in_time: bool | None
    """Whether it ends within the lease and its allocation; None without both, or if it cannot run."""


class HostCheck(msgspec.Struct):
    """What would be done on a host."""

    host: str
    word: Literal["ready", "refused"]
    cause: str | None
    action: Action | None
    """What preflight asks the host's operator for, the most severe."""
    environments: list[EnvironmentCheck]
    wheels_mb: int | None
    """Most to bring from a wheelhouse; None if the host fetches its packages itself."""
    fetch_mb: int | None
    """Most to fetch from a package index; None from a wheelhouse, or if unknown."""
    jobs: list[JobCheck]
    lease_left_s: int | None
    lease_suffices: bool | None
    """For every job that can run, without the time to build."""


class CheckData(msgspec.Struct):
    """What would be done, and whether every host is ready."""

    schema: Literal["rekindle/check/1"]
    ready: bool
    hosts: list[HostCheck]


def check_plan(folder: Path) -> CheckData:
    """Return what would be done on the hosts of the latest playbook, by the records in a results folder.

    Raises:
        RecordError: run.json or a job.yml cannot be read.
    """
    results = gather_results(folder)
    began, asked = results.playbook.latest, results.playbook.asked
    latest = max(began.values(), default=None)
    hosts = [
        _host(folder / host.name, host, asked.get(host.name), latest or "")
        for host in results.hosts
        if began.get(host.name) == latest
    ]
    return CheckData("rekindle/check/1", bool(hosts) and all(host.word == "ready" for host in hosts), hosts)


def _host(home: Path, host: HostResults, asked: str | None, began: str) -> HostCheck:
    plan = host.plan if host.plan and host.plan.made >= began else None  # or it is of an earlier playbook
    flaw = next((row.cause for row in host.rows if row.kind == "UNPROVEN" and row.job is None), None)
    cause = str(host.outcome.complaint) if host.outcome else flaw
    if not cause and not host.host and asked != "retire":
        cause = str(Complaint("It was not read.", "see the errors above."))
    standing = standing_in(home) if plan and (home / folders.STANDING_RECORD).exists() else None
    timed = (home / folders.LEASE_RECORD).exists()
    left_s = lease.measure_left(home) if timed else None
    jobs, limited = [], left_s is not None
    if host.host and plan:
        limited = limited or host.host.allocation is not None
        jobs = foresee_jobs(load_planned(plan), host.host, plan, left_s)
    return HostCheck(
        host=host.name,
        word="refused" if cause else "ready",
        cause=cause,
        action=host.outcome.action if host.outcome else None,
        environments=[
            EnvironmentCheck(environment, environment.framework in standing.standing if standing else None)
            for environment in (plan.environments if plan else ())
        ],
        wheels_mb=standing.wheels_mb if standing else None,
        fetch_mb=standing.fetch_mb if standing else None,
        jobs=[
            JobCheck(
                job=foreseen.job.name,
                container=_container(foreseen, host.host),
                required=foreseen.job.required,
                about_s=foreseen.job.expected_s,
                sends=data.from_ if (data := foreseen.job.data) and data.where == "controller" else None,
                refusal=str(foreseen.refusal) if foreseen.refusal else None,
                in_time=foreseen.late is None if limited and not foreseen.refusal else None,
            )
            for foreseen in jobs
        ],
        lease_left_s=None if left_s is None else max(round(left_s), 0),
        lease_suffices=None if left_s is None else not any(foreseen.late for foreseen in jobs),
    )


def _container(foreseen: Forecast, host: HostRecord | None) -> str | None:
    image = foreseen.job.image
    return f"{image} by {choose_engine(host).title}" if image and host and not foreseen.refusal else None
