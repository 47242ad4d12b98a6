# SPDX-License-Identifier: Apache-2.0
"""The claim on what was measured of a host."""

from rekindle.judge.check import Options, Result, register_claim, unknown
from rekindle.judge.measurements import describe_judgement
from rekindle.judge.run import Run
from rekindle.records import RecordError
from rekindle.records.events import AcceptanceEvent
from rekindle.records.verdict import CheckState

_STATES: dict[str, CheckState] = {"PASS": "holds", "FAIL": "fails", "UNPROVEN": "unknown"}


@register_claim(
    holds="Every GPU was measured, computes right, and is as fast as its norm and its neighbours.",
    needs=(AcceptanceEvent,),
)
def gpus_accepted(run: Run, options: Options) -> Result:
    try:
        verdict = describe_judgement(run)
    except RecordError as error:
        return unknown(error.message)
    message = verdict.cause or f"{len(run.spec.gpus)} GPUs compute right, and are as fast as expected."
    return Result(_STATES[verdict.verdict], message, run.find(AcceptanceEvent)[0])
