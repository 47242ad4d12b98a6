"""The claim on experiment tracking."""

from __future__ import annotations

from math import isclose
from typing import Any

from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records.events import TrackingEvent

from .registry import validator


@validator("spec", "evidence")
def tracking_read_back(run: Run, options: dict[str, Any]) -> Answer:
    """Every tracker asked for by ``--use_tracking`` gives back each site's loss of each round."""
    asked = run.spec.job.arguments.get("use_tracking", ())
    if not isinstance(asked, tuple) or not asked:
        return Answer(None, "The job asks for no tracker.", applies=False)
    read_back = {line.event.tracker: line for line in run.of(TrackingEvent)}
    wanted = {
        (site.name, line.event.round): line.event.losses[-1]
        for site in run.spec.sites
        for line in run.rounds(site.name, 0)
        if line.event.losses
    }
    for tracker in asked:
        if tracker not in read_back:
            return Answer(None, f"Nothing was read back from {tracker}.")
        losses = {
            (site, step): value
            for site, tag, step, value in read_back[tracker].event.scalars
            if tag == "loss"
        }
        for place, loss in wanted.items():
            if place not in losses or loss is None or not isclose(losses[place], loss, rel_tol=1e-5):
                says = f"{tracker} has {losses.get(place)} for {place[0]}'s loss of round {place[1]}"
                return Answer(False, f"{says}, not {loss}.", read_back[tracker])
    says = f"{', '.join(asked)} each gave back {len(wanted)} losses as the sites told them."
    return Answer(bool(wanted), says, read_back[asked[-1]])
