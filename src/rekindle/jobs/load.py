"""Reading job.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from rekindle.judge import VALIDATORS
from rekindle.records import Job, RecordError, convert, to_builtins

_CORRECT = "correct that field (see CONTRIBUTING.md)."


def load_job(jobs: Path, name: str) -> Job:
    """Read ``jobs/<name>/job.yml``.

    Raises:
        RecordError: there is no such job, or its job.yml does not fit the schema.
    """
    path = jobs / name / "job.yml"
    if not path.is_file():
        known = ", ".join(sorted(path.parent.name for path in jobs.glob("*/job.yml")))
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
