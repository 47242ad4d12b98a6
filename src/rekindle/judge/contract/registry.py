"""The register of rules: each holds one part of the story that every run has to tell without a contradiction.

Where a claim is what one job has to prove, a rule is what no run may break, whatever its job.yml asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rekindle.flare.workspace import LogLine
from rekindle.judge.answer import NO_GPU, Answer
from rekindle.judge.run import Run
from rekindle.records import ClaimResult
from rekindle.records.events import (
    ContributionEvent,
    DeviceEvent,
    Event,
    FinalEvent,
    GlobalEvent,
    RoundEvent,
    SampleEvent,
    TaskEvent,
)
from rekindle.records.evidence import Line


class Doubt(NamedTuple):
    """Where a run breaks a rule."""

    says: str
    """One sentence with the figures."""
    at: Line[Any] | LogLine | str | None = None
    """Where it stands."""
    holds: bool | None = None
    """False: the run itself went wrong. None: its files contradict each other, or do not tell. True: it goes
    with the rule, and is worth saying."""


Rule = Callable[[Run], Iterable[Doubt]]
"""Pure; yields each place where the run breaks it."""
Exemption = Callable[[Run], "str | None"]
"""Returns why a rule does not apply to a run, in one sentence; None if it does."""


class Scope(NamedTuple):
    """To which runs a rule applies, and what it takes to show that it holds."""

    versions: frozenset[int]
    """Of the specs whose runs leave what it needs."""
    needs: tuple[type[Event], ...]
    exempt: Exemption | None
    every_job: bool
    """Whether it applies to jobs that measure their host, too."""


RULES: dict[str, Rule] = {}
SCOPES: dict[str, Scope] = {}
ANY = (1, 2, 3)
"""Of every spec; runs of spec/3 have no trainers of ours."""
_PARTS: dict[type[Event], str] = {
    ContributionEvent: "result of a site, as the server got it",
    DeviceEvent: "device of a rank",
    FinalEvent: "final model",
    GlobalEvent: "global model of the server's",
    RoundEvent: "round of a rank",
    SampleEvent: "sample",
    TaskEvent: "result of a task",
}


def rule(
    *versions: int,
    needs: tuple[type[Event], ...] = (),
    exempt: Exemption | None = None,
    every_job: bool = False,
) -> Callable[[Rule], Rule]:
    """Register a rule under its name, for runs of our own jobs (spec/1 and /2) or of ``versions`` alone.

    Args:
        versions: of the spec.
        needs: events without which nothing shows that the rule holds.
        exempt: which runs have nothing that the rule is about.
        every_job: whether it applies to jobs that measure their host, too.
    """

    def register(function: Rule) -> Rule:
        RULES[function.__name__] = function
        SCOPES[function.__name__] = Scope(frozenset(versions or (1, 2)), needs, exempt, every_job)
        return function

    return register


def without_gpus(run: Run) -> str | None:
    """Exempt a run that was given no GPU."""
    return None if any(site.gpus for site in run.spec.sites) else NO_GPU.says


def hold(run: Run) -> Iterator[ClaimResult]:
    """Apply to ``run`` every rule that its job and its spec's version have."""
    for name, scope in SCOPES.items():
        if run.version in scope.versions and (run.spec.job.federated or scope.every_job):
            yield _answer(run, name, scope).result(name, run.folder)


def _answer(run: Run, name: str, scope: Scope) -> Answer:
    """Return what shows the run to be wrong, else what cannot be told, else that the rule holds."""
    if scope.exempt and (why := scope.exempt(run)):
        return Answer(None, why, applies=False)
    first: dict[bool | None, Doubt] = {}
    for doubt in RULES[name](run):
        first.setdefault(doubt.holds, doubt)
        if doubt.holds is False:
            break
    for holds in (False, None):
        if holds in first:
            return Answer(holds, first[holds].says, first[holds].at)
    for need in scope.needs:
        if not run.of(need):
            return Answer(None, f"The run left no {_PARTS[need]}.")
    if True in first:
        return Answer(True, first[True].says, first[True].at)
    return Answer(True, " ".join((RULES[name].__doc__ or "").partition("\n\n")[0].split()))
