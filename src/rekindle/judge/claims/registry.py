"""The register of validators: each holds one claim of a job.yml against the files of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from rekindle.flare.workspace import Workspace
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records import Claim, ClaimResult, RecordError

Need = Literal["spec", "workspace", "evidence", "samples", "end"]
"""A part of a run: spec.json; NVFlare's files; evidence/; samples.jsonl; ended.json."""
Validator = Callable[[Run, "dict[str, Any]"], Answer]
"""Takes the run and the claim's options."""
OfWorkspace = Callable[[Workspace], Answer]
VALIDATORS: dict[str, Validator] = {}
NEEDS: dict[str, frozenset[Need]] = {}
"""The parts of a run that a validator reads, by its name."""
_OF_OLD = {"gpus_busy": "gpus_used"}
"""Names of claims in jobs and runs of 0.1, whose validator says more exactly what it shows."""


def known(claim: str) -> bool:
    """Return whether a validator has this name, or had it."""
    return _OF_OLD.get(claim, claim) in VALIDATORS


def validator(*needs: Need) -> Callable[[Validator], Validator]:
    """Register a function under its name, which is the claim's, with the parts of a run that it reads."""

    def register(function: Validator) -> Validator:
        VALIDATORS[function.__name__] = function
        NEEDS[function.__name__] = frozenset(needs)
        return function

    return register


def of_workspace(function: OfWorkspace) -> OfWorkspace:
    """Register a function that reads NVFlare's files alone, and so holds for runs of others too."""

    @validator("workspace")
    @wraps(function)
    def holds(run: Run, options: dict[str, Any]) -> Answer:
        return function(run.workspace)

    return function


class _Options(dict[str, Any]):
    """What a claim is held against; asking for one that is not there is told as the job's fault."""

    def __missing__(self, name: str) -> None:
        raise RecordError(f"A claim of this job lacks its option {name!r}.", "give it in job.yml's proof.")


def check(run: Run, claim: Claim) -> ClaimResult:
    """Hold ``claim`` against ``run``; a claim that we do not know cannot be told.

    Raises:
        RecordError: the claim lacks an option.
    """
    name = _OF_OLD.get(claim.claim, claim.claim)
    holds = VALIDATORS.get(name)
    answer = holds(run, _Options(claim.options)) if holds else Answer(None, f"No validator is named {name}.")
    return answer.result(name, run.folder)
