"""The claims on experiment tracking: by what job.py read back, and by the trackers' own files."""

from __future__ import annotations

from math import isclose, isfinite
from typing import Any

from rekindle.flare import announced
from rekindle.flare.trackers import TRACKERS, BrokenTrackerError, kept
from rekindle.flare.workspace import Workspace
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records.events import TrackingEvent

from .registry import validator


@validator("spec", "evidence")
def tracking_read_back(run: Run, options: dict[str, Any]) -> Answer | None:
    """Every tracker asked for by ``--use_tracking`` gives back each site's loss of each round."""
    asked = run.spec.job.arguments.get("use_tracking", ())
    if not isinstance(asked, tuple) or not asked:
        return None
    told = {line.event.tracker: line for line in run.of(TrackingEvent)}
    wanted = {
        (site.name, line.event.round): line.event.losses[-1]
        for site in run.spec.sites
        for line in run.rounds(site.name, 0)
        if line.event.losses
    }
    for tracker in asked:
        if tracker not in told:
            return Answer(None, f"Nothing was read back from {tracker}.")
        found = {
            (site, step): value for site, tag, step, value in told[tracker].event.scalars if tag == "loss"
        }
        for place, loss in wanted.items():
            if place not in found or loss is None or not isclose(found[place], loss, rel_tol=1e-5):
                says = (
                    f"{tracker} has {found.get(place)} for {place[0]}'s loss of round {place[1]}, not {loss}."
                )
                return Answer(False, says, told[tracker])
    says = f"{', '.join(asked)} each gave back {len(wanted)} losses as the sites told them."
    return Answer(bool(wanted), says, told[asked[-1]])


@validator("workspace")
def tracked(run: Run, options: dict[str, Any]) -> Answer:
    """A tracker kept one run of every announced site, with finite values.

    Option ``tracker``: ``tensorboard``, ``mlflow`` or ``wandb``.
    """
    return tracker_kept(run.workspace, str(options["tracker"]))


def tracker_kept(workspace: Workspace, tracker: str) -> Answer:
    """Whether ``tracker`` kept finite values in one run of every announced site."""
    sites = announced.sites(workspace)
    if tracker not in TRACKERS or not sites:
        why = "which sites there should be" if tracker in TRACKERS else f"how {tracker[:50]} keeps runs"
        return Answer(None, f"Nothing tells {why}.")
    try:
        found = kept(workspace, tracker)
    except BrokenTrackerError as error:
        return Answer(None, str(error))
    runs: dict[str, set[str]] = {site: set() for site in sites}
    for scalar in found:
        if not isfinite(scalar.value):
            says = f"{tracker} has {scalar.value} for {scalar.tag[:100]} of {scalar.run[:100]}."
            return Answer(False, says)
        owners = [site for site in sites if f"{scalar.run}-".startswith(f"{site}-")]
        if owners:
            runs[max(owners, key=len)].add(scalar.run)
    for site, names in runs.items():
        if len(names) != 1:
            return Answer(False, f"{tracker} kept {len(names) or 'no'} runs of {site}.")
    steps = len({scalar.step for scalar in found})
    tags = ", ".join(sorted({scalar.tag for scalar in found})[:10])
    says = f"{tracker} kept {len(found)} values of {tags} at {steps} steps, in one run of each site."
    return Answer(True, says)
