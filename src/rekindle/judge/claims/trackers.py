"""The claim on what trackers kept of a run, by their own files."""

from __future__ import annotations

from math import isfinite
from typing import Any

from rekindle.flare import announced
from rekindle.flare.trackers import TRACKERS, BrokenTrackerError, kept
from rekindle.flare.workspace import Workspace
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run

from .registry import validator


@validator("workspace")
def tracked(run: Run, options: dict[str, Any]) -> Answer:
    """A tracker kept one run of every announced site, at the server or each at its own, with finite values.

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
        scalars = kept(workspace, tracker)
    except BrokenTrackerError as error:
        return Answer(None, str(error))
    runs: dict[str, set[str]] = {site: set() for site in sites}
    for scalar in scalars:
        if not isfinite(scalar.value):
            says = f"{tracker} has {scalar.value} for {scalar.tag[:100]} of {scalar.run[:100]}."
            return Answer(False, says)
        owners = [site for site in sites if f"{scalar.run}-".startswith(f"{site}-")]
        owner = max(owners, key=len, default=scalar.site)
        if scalar.site not in {"", owner}:
            return Answer(False, f"{tracker} kept a run of {owner} at {scalar.site}.")
        if owner in runs:
            runs[owner].add(scalar.run)
    for site, names in runs.items():
        if len(names) != 1:
            return Answer(False, f"{tracker} kept {len(names) or 'no'} runs of {site}.")
    steps = len({scalar.step for scalar in scalars})
    tags = ", ".join(sorted({scalar.tag for scalar in scalars})[:10])
    says = f"{tracker} kept {len(scalars)} values of {tags} at {steps} steps, in one run of each site."
    return Answer(True, says)
