"""Claims on training as NVFlare's server saw it, of examples that write no evidence of ours."""

from __future__ import annotations

from typing import Any

from rekindle.flare.announced import sites
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records.events import TaskEvent

from .registry import validator

_TRAINS = "train"
"""Name of the task whose result is what a site has made of the model that it was sent."""


@validator("spec", "evidence")
def every_site_trained(run: Run, options: dict[str, Any]) -> Answer:
    """Every site's result of every training task is a model other than the one that it was sent.

    Where no result can be compared, as a gradient cannot with a model, each is a number other than 0; so is
    one of a first round that sent settings and no model, as scikit-learn's.
    """
    results = [line for line in run.of(TaskEvent) if line.event.task == _TRAINS]
    for line in results:
        if says := _wrong(line.event):
            return Answer(False, says, line)
    for site in sorted({line.event.site for line in results}):
        trained = [line.event.trained for line in results if line.event.site == site]
        if not any(step or step is None for step in trained):
            says = (
                f"{site} changed no trainable parameter by more than rounding in any round: it did not train."
            )
            return Answer(False, says, results[-1])
    untold = [line for line in results if line.event.moved is None and line.event.kind != "WEIGHT_DIFF"]
    began = min((line.event.round or 0 for line in results), default=0)  # with settings, and no model yet
    later = [line for line in untold if (line.event.round or 0) > began]
    if later and len(untold) < len(results):
        event = later[0].event
        return Answer(None, f"{event.site}'s result was compared with nothing, unlike others.", untold[0])
    silent = sorted({site.name for site in run.spec.sites} - {line.event.site for line in results})
    if silent:
        announced = ", ".join(sites(run.workspace)) or "none"
        says = f"The server had no training result of {silent[0]}; the job announced the sites {announced}."
        return Answer(None, says)
    summary = f"Every site sent back another model than it was sent, in {len(results)} results."
    return Answer(True, summary, results[-1])


def _wrong(event: TaskEvent) -> str | None:
    """Return what shows that a result is of no training."""
    where = event.site if event.round is None else f"{event.site} in round {event.round}"
    if not event.values:
        return f"{where} sent nothing back."
    if event.finite is False:
        return f"{where} sent what is not finite."
    if (event.kind == "WEIGHT_DIFF" and event.norm == 0) or event.moved == 0:
        return f"{where} sent back the model that it was sent: it did not train."
    return f"{where} sent zeros." if event.norm == 0 else None
