"""The register of rules: each holds one part of the story that every run has to tell without a contradiction.

Where a claim is what one job has to prove, a rule is what no run may break, whatever its job.yml asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rekindle.flare.workspace import LogLine
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records import ClaimResult
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
RULES: dict[str, Rule] = {}
VERSIONS: dict[str, frozenset[int]] = {}
"""Of the specs whose runs leave what a rule needs."""
OF_EVERY_JOB: set[str] = set()
"""Rules that also apply to a job that measures its host."""


ANY = (1, 2, 3)
"""Of every spec; runs of spec/3 have no trainers of ours."""


def rule(*versions: int, every_job: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule under its name, for runs of our own jobs (spec/1 and /2) or of ``versions`` alone.

    With ``every_job`` it also applies to jobs that measure their host.
    """

    def register(function: Rule) -> Rule:
        RULES[function.__name__] = function
        if every_job:
            OF_EVERY_JOB.add(function.__name__)
        VERSIONS[function.__name__] = frozenset(versions or (1, 2))
        return function

    return register


def hold(run: Run) -> Iterator[ClaimResult]:
    """Apply to ``run`` every rule that its job and its spec's version have."""
    for name, function in RULES.items():
        if run.version in VERSIONS[name] and (run.spec.job.federated or name in OF_EVERY_JOB):
            yield _answer(run, function).result(name, run.folder)


def _answer(run: Run, function: Rule) -> Answer:
    """Return what shows the run to be wrong, else what cannot be told, else that the rule holds."""
    first: dict[bool | None, Doubt] = {}
    for doubt in function(run):
        first.setdefault(doubt.holds, doubt)
        if doubt.holds is False:
            break
    for holds in (False, None, True):
        if holds in first:
            return Answer(holds, first[holds].says, first[holds].at)
    return Answer(True, " ".join((function.__doc__ or "").partition("\n\n")[0].split()))
