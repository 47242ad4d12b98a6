"""Claims on experiment trackers: what they kept of a run, by their own files, and what they gave back."""

from math import isclose, isfinite
from typing import Any

from rekindle.flare.trackers import TRACKERS, BrokenTrackerError, kept
from rekindle.judge.check import Result, check, fails, holds, shown, unknown
from rekindle.judge.run import Run
from rekindle.records.events import RoundEvent, TrackingEvent


@check("claim")
def tracked(run: Run, options: dict[str, Any]) -> Result:
    """A tracker kept one run of every announced site, at the server or each at its own, with finite values.

    Option ``tracker``: ``tensorboard``, ``mlflow`` or ``wandb``.
    """
    sites, tracker = run.account.sites, str(options["tracker"])
    if tracker not in TRACKERS or not sites:
        what = "The expected sites are" if tracker in TRACKERS else f"The format of {tracker[:50]} is"
        return unknown(f"{what} unknown.")
    try:
        scalars = kept(run.workspace, tracker)
    except BrokenTrackerError as error:
        return unknown(str(error))
    runs: dict[str, set[str]] = {site: set() for site in sites}
    for scalar in scalars:
        if not isfinite(scalar.value):
            return fails(f"{tracker} has {scalar.value} for {scalar.tag[:100]} of {scalar.run[:100]}.")
        owners = [site for site in sites if f"{scalar.run}-".startswith(f"{site}-")]
        owner = max(owners, key=len, default=scalar.site)
        if scalar.site not in {"", owner}:
            return fails(f"{tracker} kept a run of {owner} at {scalar.site}.")
        if owner in runs:
            runs[owner].add(scalar.run)
    for site, names in runs.items():
        if len(names) != 1:
            return fails(f"{tracker} kept {len(names) or 'no'} runs of {site}.")
    steps = len({scalar.step for scalar in scalars})
    tags = ", ".join(sorted({scalar.tag for scalar in scalars})[:10])
    return holds(f"{tracker} kept {len(scalars)} values of {tags} at {steps} steps, in one run of each site.")


def _asked(run: Run) -> tuple[str, ...]:
    asked = run.spec.job.arguments.get("use_tracking", ())
    return asked if isinstance(asked, tuple) else ()


def _untracked(run: Run) -> str | None:
    return None if _asked(run) else "The job asks for no tracker."


@check("claim", needs=(TrackingEvent, RoundEvent), unless=_untracked)
def tracking_read_back(run: Run) -> Result:
    """Every tracker asked for by ``--use_tracking`` gives back each site's loss of each round."""
    asked = _asked(run)
    read_back = {line.event.tracker: line for line in run.of(TrackingEvent)}
    wanted = {
        (site.name, line.event.round): line.event.losses[-1]
        for site in run.spec.sites
        for line in run.rounds(site.name, 0)
        if line.event.losses
    }
    for tracker in asked:
        if tracker not in read_back:
            return unknown(f"Nothing was read back from {tracker}.")
        losses = {
            (site, step): value
            for site, tag, step, value in read_back[tracker].event.scalars
            if tag == "loss"
        }
        for place, loss in wanted.items():
            if place not in losses or loss is None or not isclose(losses[place], loss, rel_tol=1e-5):
                message = f"{tracker} has {losses.get(place)} for {place[0]}'s loss of round {place[1]}"
                return fails(f"{message}, not {loss}.", read_back[tracker])
    message = f"{', '.join(asked)} each gave back {len(wanted)} losses as the sites reported them."
    return shown(wanted, message, read_back[asked[-1]])
