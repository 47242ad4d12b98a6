"""The register of rules: each holds one part of the story that every run has to tell without a contradiction.

Where a claim is what one job has to prove, a rule is what no run may break, whatever its job.yml asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rekindle.evidence import Line
from rekindle.judge.run import Run
from rekindle.judge.workspace import LogLine
from rekindle.records import Evidence


class Doubt(NamedTuple):
    """Where a run breaks a rule."""

    says: str
    """One sentence with the figures."""
    at: Line[Any] | LogLine | str | None = None
    """Where it stands."""
    holds: bool | None = None
    """False: the run itself went wrong. None: its files contradict each other, or do not tell."""


Rule = Callable[[Run], Iterable[Doubt]]
"""Pure; yields each place where the run breaks it."""
RULES: dict[str, Rule] = {}
_VERSIONS: dict[str, frozenset[int]] = {}
"""Of the specs whose runs leave what a rule needs."""


def rule(*versions: int) -> Callable[[Rule], Rule]:
    """Register a rule under its name, for runs of spec/1 and spec/2 or for those of ``versions`` alone."""

    def register(function: Rule) -> Rule:
        RULES[function.__name__] = function
        _VERSIONS[function.__name__] = frozenset(versions or (1, 2))
        return function

    return register


def hold(run: Run) -> Iterator[Evidence]:
    """Hold ``run`` against every rule that its spec's version knows."""
    version = int(run.spec.schema.rpartition("/")[2])
    for name, function in RULES.items():
        if version in _VERSIONS[name]:
            yield _evidence(run, name, function)


def _evidence(run: Run, name: str, function: Rule) -> Evidence:
    """Return the first doubt that shows the run to be wrong, else the first one, else that the rule holds."""
    first = None
    for doubt in function(run):
        first = first or doubt
        if doubt.holds is False:
            first = doubt
            break
    if first is None:
        return run.evidence(name, True, " ".join((function.__doc__ or "").partition("\n\n")[0].split()))
    return run.evidence(name, first.holds, first.says, first.at)
