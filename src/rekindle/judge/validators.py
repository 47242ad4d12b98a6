"""The register of validators: each holds one claim of a job.yml against the files of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.records import Claim, Evidence, RecordError

from .run import Run

Validator = Callable[[Run, str, "dict[str, Any]"], "Evidence | None"]
"""Takes the run, the claim's name and its options. Returns evidence that holds, does not hold, or (``None``)
cannot be told from the files; nothing where the claim does not apply, as GPU claims on a CPU host."""
VALIDATORS: dict[str, Validator] = {}


def validator(function: Validator) -> Validator:
    """Register ``function`` under its name, which is the claim's."""
    VALIDATORS[function.__name__] = function
    return function


class _Options(dict[str, Any]):
    """What a claim is held against; asking for one that is not there is told as the job's fault."""

    def __missing__(self, name: str) -> None:
        raise RecordError(f"A claim of this job lacks its option {name!r}.", "give it in job.yml's proof.")


def check(run: Run, claim: Claim) -> Evidence | None:
    """Hold ``claim`` against ``run``; a claim that we do not know cannot be told.

    Raises:
        RecordError: the claim lacks an option.
    """
    known = VALIDATORS.get(claim.claim)
    if known is None:
        return run.evidence(claim.claim, None, f"No validator is named {claim.claim}.")
    return known(run, claim.claim, _Options(claim.options))
