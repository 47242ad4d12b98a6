"""The claim on what was measured of a host."""

from __future__ import annotations

from typing import Any

from rekindle.judge.answer import Answer
from rekindle.judge.measured import judgement
from rekindle.judge.run import Run
from rekindle.records import RecordError
from rekindle.records.events import AcceptanceEvent

from .registry import validator

_HOLDS = {"PASS": True, "FAIL": False, "UNPROVEN": None}


@validator("spec", "evidence", "samples")
def gpus_accepted(run: Run, options: dict[str, Any]) -> Answer:
    """Every GPU was measured, computes right, and is as fast as its norm and its neighbours."""
    try:
        verdict = judgement(run)
    except RecordError as error:
        return Answer(None, error.says)
    says = (
        verdict.cause or f"{len(run.spec.gpus)} GPUs compute right, and are as fast as what they are held to."
    )
    return Answer(_HOLDS[verdict.verdict], says, next(iter(run.of(AcceptanceEvent)), None))
