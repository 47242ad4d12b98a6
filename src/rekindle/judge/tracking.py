"""The claim on experiment tracking."""

from __future__ import annotations

from math import isclose
from typing import Any

from rekindle.records import Evidence
from rekindle.records.events import TrackingEvent

from .run import Run
from .validators import validator


@validator
def tracking_read_back(run: Run, claim: str, options: dict[str, Any]) -> Evidence | None:
    """Every tracker asked for by ``--use_tracking`` gives back each site's loss of each round."""
    asked = run.spec.job.arguments.get("use_tracking", ())
    if not isinstance(asked, tuple) or not asked:
        return None
    told = {one.event.tracker: one for one in run.of(TrackingEvent)}
    wanted = {
        (site.name, one.event.round): one.event.losses[-1]
        for site in run.spec.sites
        for one in run.rounds(site.name, 0)
        if one.event.losses
    }
    for tracker in asked:
        if tracker not in told:
            return run.evidence(claim, None, f"Nothing was read back from {tracker}.")
        found = {
            (site, step): value for site, tag, step, value in told[tracker].event.scalars if tag == "loss"
        }
        for place, loss in wanted.items():
            if place not in found or loss is None or not isclose(found[place], loss, rel_tol=1e-5):
                says = (
                    f"{tracker} has {found.get(place)} for {place[0]}'s loss of round {place[1]}, not {loss}."
                )
                return run.evidence(claim, False, says, told[tracker])
    says = f"{', '.join(asked)} each gave back {len(wanted)} losses as the sites told them."
    return run.evidence(claim, bool(wanted), says, told[asked[-1]])
