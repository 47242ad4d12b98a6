# SPDX-License-Identifier: Apache-2.0
"""The claim on experiment trackers: what they gave back of a run, in its own environment."""

from collections.abc import Iterator
from math import isclose

from rekindle.judge.check import Options, Result, fails, holds, register_claim, unknown
from rekindle.judge.run import Run
from rekindle.records.events import TrackingEvent
from rekindle.records.evidence import EvidenceLine

_TRACKERS = ("tensorboard", "mlflow", "mlflow_client", "wandb")
"""``mlflow_client``: MLflow's at each site, beside the server's."""
_LOSS = "loss"


@register_claim(
    holds="A tracker kept one run of every announced site, at the server or at its own, with finite values.",
    may_take={"tracker": str},
)
def tracked(run: Run, options: Options) -> Result:
    """Option ``tracker``: ``tensorboard``, ``mlflow``, ``mlflow_client`` or ``wandb``; those that the job's
    ``--use_tracking`` names if it is left out. Losses that ranks record are those that it gives back.
    """
    named = options.get("tracker") or run.spec.job.arguments.get("use_tracking", ())
    asked = named if isinstance(named, tuple) else (str(named),)
    if not asked:
        return Result("not applicable", "The job asks for no tracker.")
    if not run.account.sites:
        return unknown("The expected sites are unknown.")
    if other := next((tracker for tracker in asked if tracker not in _TRACKERS), None):
        return unknown(f"The tracker {other[:50]} is unknown.")
    found = [_kept(run, tracker) for tracker in asked]
    worst = next((result for result in found if result.state != "holds"), None)
    return worst or holds(" ".join(result.message for result in found), found[-1].at)


def _kept(run: Run, tracker: str) -> Result:
    lines = [line for line in run.find(TrackingEvent) if line.event.tracker == tracker.partition("_")[0]]
    if broken := next((line for line in lines if line.event.error), None):
        return unknown(f"{tracker} was not read: {broken.event.error}", broken)
    own = [line for line in lines if not line.event.site and tracker != "mlflow_client"]
    lines = own or [line for line in lines if line.event.site]
    return next(_wrong(run, tracker, lines), None) or _summary(tracker, lines)


def _wrong(run: Run, tracker: str, lines: list[EvidenceLine[TrackingEvent]]) -> Iterator[Result]:
    sites = run.account.sites
    runs: dict[str, set[str]] = {site: set() for site in sites}
    for line in lines:
        for name, tag, _, value in line.event.scalars:
            owners = [site for site in sites if f"{name}-".startswith(f"{site}-")]
            owner = max(owners, key=len, default=line.event.site)
            if value is None:
                yield fails(f"{tracker} has no finite value for {tag[:100]} of {name[:100]}.", line)
            if line.event.site not in {"", owner}:
                yield fails(f"{tracker} kept a run of {owner} at {line.event.site}.", line)
            if owner in runs:
                runs[owner].add(name)
    for site, names in runs.items():
        if len(names) != 1:
            yield fails(f"{tracker} kept {len(names) or 'no'} runs of {site}.", lines[-1] if lines else None)
    if wrong := _other_losses(run, tracker, lines):
        yield fails(wrong, lines[-1])


def _summary(tracker: str, lines: list[EvidenceLine[TrackingEvent]]) -> Result:
    scalars = [scalar for line in lines for scalar in line.event.scalars]
    tags = ", ".join(sorted({tag for _, tag, *_ in scalars})[:10])
    steps = len({step for *_, step, _ in scalars})
    message = f"{tracker} kept {len(scalars)} values of {tags} at {steps} steps, in one run of each site."
    return holds(message, lines[-1])


def _other_losses(run: Run, tracker: str, lines: list[EvidenceLine[TrackingEvent]]) -> str | None:
    """Return where a tracker has another loss than rank 0 of its site recorded; None if it has the same."""
    losses = {
        (site, step): value
        for line in lines
        for name, tag, step, value in line.event.scalars
        for site in run.account.sites
        if tag == _LOSS and line.event.site in {"", site} and f"{name}-".startswith(f"{site}-")
    }
    for site in run.spec.sites if losses else ():
        for event in (line.event for line in run.ranks.rounds(site.name, 0)):
            loss, kept = (event.losses or (None,))[-1], losses.get((site.name, event.round))
            if loss is not None and (kept is None or not isclose(kept, loss, rel_tol=1e-5)):
                return f"{tracker} has {kept} for {site.name}'s loss of round {event.round}, not {loss}."
    return None
