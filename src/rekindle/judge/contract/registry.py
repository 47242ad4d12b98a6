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
RULES: dict[str, Rule] = {}
VERSIONS: dict[str, frozenset[int]] = {}
"""Of the specs whose runs leave what a rule needs."""
_NEEDS: dict[str, tuple[type[Event], ...]] = {}
_EXEMPT: dict[str, Exemption] = {}

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
    *versions: int, needs: tuple[type[Event], ...] = (), exempt: Exemption | None = None
) -> Callable[[Rule], Rule]:
    """Register a rule under its name, for runs of our own jobs (spec/1 and /2) or of ``versions`` alone.

    Args:
        versions: of the spec.
        needs: events without which nothing shows that the rule holds.
        exempt: which runs have nothing that the rule is about.
    """

    def register(function: Rule) -> Rule:
        RULES[function.__name__] = function
        VERSIONS[function.__name__] = frozenset(versions or (1, 2))
        _NEEDS[function.__name__] = needs
        if exempt:
            _EXEMPT[function.__name__] = exempt
        return function

    return register


def without_gpus(run: Run) -> str | None:
    """Exempt a run that was given no GPU."""
    return None if any(site.gpus for site in run.spec.sites) else NO_GPU.says


def hold(run: Run) -> Iterator[ClaimResult]:
    """Hold ``run`` against every rule that its spec's version knows."""
    for name in RULES:
        if run.version in VERSIONS[name]:
            yield _answer(run, name).result(name, run.folder)


def _answer(run: Run, name: str) -> Answer:
    """Return what shows the run to be wrong, else what cannot be told, else that the rule holds."""
    if name in _EXEMPT and (why := _EXEMPT[name](run)):
        return Answer(None, why, applies=False)
    first: dict[bool | None, Doubt] = {}
    for doubt in RULES[name](run):
        first.setdefault(doubt.holds, doubt)
        if doubt.holds is False:
            break
    for holds in (False, None):
        if holds in first:
            return Answer(holds, first[holds].says, first[holds].at)
    for need in _NEEDS[name]:
        if not run.of(need):
            return Answer(None, f"The run left no {_PARTS[need]}.")
    if True in first:
        return Answer(True, first[True].says, first[True].at)
    return Answer(True, " ".join((RULES[name].__doc__ or "").partition("\n\n")[0].split()))
