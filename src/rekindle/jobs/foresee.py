"""What would become of a host's jobs: a pure function of what is known before any of them runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rekindle.records import Complaint, HostRecord, Job, PlanRecord

from .lease import allowance, too_short
from .placement import Unplaceable
from .prepare import environment_of, place


class Foreseen(NamedTuple):
    """What would become of a job."""

    job: Job
    refusal: str | None
    """Why it cannot run on the host."""
    late: Complaint | None
    """Why the lease is too short for it, after those before it, or what SLURM is asked for."""


def foresee(jobs: Iterable[Job], host: HostRecord, plan: PlanRecord, left_s: float | None) -> list[Foreseen]:
    """Return what would become of each of ``jobs``, in their order.

    Args:
        jobs: each takes as long as it is expected to.
        host: what preflight found.
        plan: what was decided for it.
        left_s: seconds until the lease ends, as if nothing had to be built; None if that is not known.
    """
    foreseen = []
    for job in jobs:
        refusal, late = _refusal(job, host, plan), None
        if refusal is None and allowance(job, left_s, host.slurm) is None:
            late = too_short(job, left_s, host.slurm)
        elif refusal is None and left_s is not None:
            left_s -= job.expected_s
        foreseen.append(Foreseen(job, refusal, late))
    return foreseen


def stops(jobs: Iterable[Job], host: HostRecord, plan: PlanRecord, left_s: float | None) -> str:
    """Return why each required one of ``jobs`` would not run, a line each; empty if all would.

    The arguments are those of `foresee`.
    """
    required = [foreseen for foreseen in foresee(jobs, host, plan, left_s) if foreseen.job.required]
    return "\n".join(str(why) for foreseen in required if (why := foreseen.refusal or foreseen.late))


def _refusal(job: Job, host: HostRecord, plan: PlanRecord) -> str | None:
    if job.name in plan.removed:
        return plan.removed[job.name]
    name = environment_of(job, [planned.framework for planned in plan.environments])
    for planned in plan.environments:
        if planned.framework == name and planned.build is None:
            return planned.refusal
    try:
        place(job, host, plan)
    except Unplaceable as error:
        return str(error)
    return None
