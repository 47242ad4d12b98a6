"""Reading job.yml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from rekindle.judge import VALIDATORS
from rekindle.records import Job, RecordError, convert, to_builtins
from rekindle.solver.catalogue import environments

_CORRECT = "correct that field (see CONTRIBUTING.md)."


_EXAMPLES = "examples"
_ALL = f"{_EXAMPLES}/all"


def known_jobs(jobs: Path) -> list[str]:
    """Return what rekindle_jobs may name: our own jobs, ``examples/<name>``, and all of those."""
    own = sorted(path.parent.name for path in jobs.glob("*/job.yml"))
    examples = [f"{_EXAMPLES}/{name}" for name in example_names(jobs)]
    return [*own, *examples, _ALL] if examples else own


def example_names(jobs: Path) -> list[str]:
    """Return the names of NVFlare's examples that we have a description of."""
    return sorted(path.stem for path in jobs.glob(f"{_EXAMPLES}/*.yml"))


def asked_as(job: Job) -> str:
    """Return what rekindle_jobs calls a job."""
    return f"{_EXAMPLES}/{job.name}" if job.example else job.name


def expand(jobs: Path, asked: Iterable[str]) -> list[str]:
    """Return ``asked`` with each example in place of ``examples/all``, and none twice."""
    every = [f"{_EXAMPLES}/{name}" for name in example_names(jobs)]
    return list(dict.fromkeys(name for one in asked for name in (every if one == _ALL else [one])))


def load_job(jobs: Path, name: str) -> Job:
    """Read ``jobs/<name>/job.yml``, or ``jobs/examples/<name>.yml``.

    Raises:
        RecordError: there is no such job, or its job.yml does not fit the schema.
    """
    name = name.removeprefix(f"{_EXAMPLES}/")
    path = jobs / name / "job.yml"
    if not path.is_file():
        path = jobs / _EXAMPLES / f"{name}.yml"
    if not path.is_file():
        known = ", ".join(known_jobs(jobs))
        raise RecordError(
            f"There is no job {name!r} in {jobs.name}/.", f"name one of {known} in rekindle_jobs."
        )
    try:
        job = convert(yaml.safe_load(path.read_text(encoding="utf-8")), Job)
    except (RecordError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise RecordError(f"{path} is not a job: {said}.", _CORRECT) from None
    if job.code and not (jobs / job.code / "job.py").is_file():
        raise RecordError(
            f"{path} runs the code of {job.code!r}, which has no job.py.", "name a job that has one."
        )
    if job.environment not in environments():
        raise RecordError(
            f"{path} names the environment {job.environment!r}, and there is none.",
            f"name one of {', '.join(environments())}.",
        )
    unknown = [claim.claim for claim in job.proof if claim.claim not in VALIDATORS]
    if unknown or job.name != name:
        what = (
            f"claims {unknown[0]!r}, which no validator knows" if unknown else f"is named {job.name!r} inside"
        )
        raise RecordError(f"{path} {what}.", _CORRECT)
    return job


def with_arguments(job: Job, arguments: dict[str, Any]) -> Job:
    """Return ``job`` with ``arguments`` over its own.

    Raises:
        RecordError: one has a value that no option can have.
    """
    try:
        return convert({**to_builtins(job), "arguments": {**job.arguments, **arguments}}, Job)
    except RecordError as error:
        raise RecordError(
            f"rekindle_job_arguments has a value for {job.name} that is no option's: {error.says}.",
            "give texts, numbers, true, or lists of texts.",
        ) from None
