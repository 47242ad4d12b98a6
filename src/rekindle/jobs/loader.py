# SPDX-License-Identifier: Apache-2.0
"""A job by its name, of a plan, or at a path, and with what an inventory sets of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from rekindle.host import paths
from rekindle.records import Job, PlanRecord, RecordError, dump_builtins
from rekindle.records.job import Variant
from rekindle.records.misfits import convert_written

from .job_file import explain_unfit, make_job, read_job_file, require_command
from .names import EXAMPLES, list_jobs, name_arguments, resolve_own
from .own import read_own
from .placement import cut_minor

SIZES = {"sites": ("{sites}", "{names}"), "ranks_per_site": (), "rounds": ("{rounds}",), "limit_s": ()}
"""Fields of job.yml that an inventory may set, with what has one of to stand for them in a job's command."""


def load_planned(plan: PlanRecord) -> list[Job]:
    """Read the jobs of a plan, in its order, as its release of NVFlare has them.

    Raises:
        RecordError: as `load_job` does.
    """
    return [load_planned_job(plan, name) for name in plan.jobs]


def load_planned_job(plan: PlanRecord, name: str) -> Job:
    """Read one job of a plan, as `load_planned` does."""
    job = load_job(paths.JOBS, plan.own.get(name, name))
    release = cut_minor(plan.nvflare)
    if job.example is None or release is None:
        return job
    variant = job.example.variants.get(release, Variant())
    given = {name: value for name, value in asdict(variant).items() if value is not None}
    return replace(job, example=replace(job.example, variants={}, **given))


def load_job(jobs: Path, name: str) -> Job:
    """Read ``jobs/<name>/job.yml``, ``jobs/examples/<name>.yml``, or the job of the user's own at that path.

    Raises:
        RecordError: there is no such job, its job.yml does not fit the schema, or its code cannot be sent.
    """
    if own := resolve_own(name):
        return read_own(jobs, own).job
    name = name.removeprefix(f"{EXAMPLES}/")
    places_of_it = (jobs / name / "job.yml", jobs / EXAMPLES / f"{name}.yml")
    path = next((path for path in places_of_it if path.is_file()), None)
    if path is None:
        fix = f"name one of {', '.join(list_jobs(jobs))} in rekindle_jobs."
        raise RecordError(f"There is no job {name!r} in {jobs.name}/.", fix)
    job = make_job(path, read_job_file(path))
    if job.code and not (jobs / job.code / "job.py").is_file():
        raise RecordError(
            f"{path} runs the code of {job.code!r}, which has no job.py.", "name a job that has one."
        )
    if job.name != name:
        raise explain_unfit(path, ValueError(f"it is named {job.name!r} inside"))
    if job.federated:
        require_command(path, job)
    return job


def set_sizes(job: Job, sizes: Mapping[str, int]) -> Job:
    """Return ``job`` with ``sizes``, some of `SIZES`, in place of its own.

    Raises:
        RecordError: one is no size of a job, or the job's command does not take it.
    """
    setting = f"rekindle_job_sizes gives {name_arguments(job)}"
    for name in sizes:
        if name not in SIZES:
            raise RecordError(f"{setting} {name}, which is no size of a job.", f"name {', '.join(SIZES)}.")
        words = SIZES[name] if job.example else ()
        if words and not any(word in " ".join(job.command) for word in words):
            fix = f"leave it out, or pass {words[0]} in its command."
            raise RecordError(f"{setting} {name}, which its command does not take.", fix)
    try:
        return convert_written({**dump_builtins(job), **sizes}, Job)
    except RecordError as error:
        raise RecordError(f"{setting} a size that none can have: {error.message}.", "give numbers.") from None


def set_arguments(job: Job, arguments: dict[str, Any]) -> Job:
    """Return ``job`` with ``arguments`` over its own.

    Raises:
        RecordError: one has a value that no option can have.
    """
    try:
        return convert_written({**dump_builtins(job), "arguments": {**job.arguments, **arguments}}, Job)
    except RecordError as error:
        raise RecordError(
            f"rekindle_job_arguments has a value for {job.name} that is no option's: {error.message}.",
            "give texts, numbers, true, or lists of texts.",
        ) from None
