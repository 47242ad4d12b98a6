"""The register of checks: what each needs, the runs to which it applies, and its result for one run."""

from collections.abc import Callable, Iterable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rekindle.flare.workspace import LogLine
from rekindle.host.files import sha256
from rekindle.records import Claim, ClaimResult, Ended, RecordError, events
from rekindle.records.evidence import Line
from rekindle.records.text import shortened
from rekindle.records.verdict import State

from .run import Kind, Run


class Result(NamedTuple):
    """What a run's files show of one check."""

    state: State
    message: str
    at: Line[Any] | LogLine | Path | str | None = None
    """Where it was seen; a path, or a name in the run's folder, is a file."""


holds = partial(Result, "holds")
"""The run passes this check."""
fails = partial(Result, "fails")
"""The run itself went wrong."""
unknown = partial(Result, "unknown")
"""The run's files contradict each other, or do not show it."""


def shown(condition: object, message: str, at: Any = None) -> Result:
    """The run passes if ``condition`` is true, and fails otherwise."""
    return (holds if condition else fails)(message, at)


Function = Callable[..., "Result | Iterable[Result]"]
"""Pure. Takes the run, and the claim's options if it has any; returns its result, or yields each place
where the run fails."""
Need = type[events.Event] | type[Ended]
_GRAVITY: tuple[State, ...] = ("fails", "unknown", "holds", "not applicable")
_PARTS: dict[Need, str] = {
    events.AcceptanceEvent: "figures of its GPUs",
    events.DeviceEvent: "device of a rank",
    Ended: "record of its end",
    events.FinalEvent: "final model",
    events.GlobalEvent: "global model of the server's",
    events.ModelEvent: "model that was loaded",
    events.RoundEvent: "round of a rank",
    events.SampleEvent: "sample",
    events.TaskEvent: "result of a site, as the server got it",
    events.TrackingEvent: "figures from a tracker",
}


class Check(NamedTuple):
    """One question to a run."""

    name: str
    function: Function
    applies_to: frozenset[Kind | Literal["claim"]]
    """Kinds of runs that it always applies to; ``claim``: jobs that name it in their proof."""
    needs: tuple[Need, ...]
    unless: Callable[[Run], str | None] | None
    """Returns why the check does not apply to a run, in one sentence; None if it does."""

    def result(self, run: Run, options: dict[str, Any] | None = None) -> ClaimResult:
        """Apply the check to ``run``.

        Raises:
            OSError: the file that shows the result cannot be read.
            RecordError: the claim lacks an option.
        """
        return _recorded(self.name, self._worst(run, options or {}), run.folder)

    def _worst(self, run: Run, options: dict[str, Any]) -> Result:
        if self.unless and (why := self.unless(run)):
            return Result("not applicable", why)
        for need in self.needs:
            if not run.has(need):
                return unknown(f"The run left no {_PARTS[need]}.")
        takes_options = len(signature(self.function).parameters) > 1
        found = self.function(run, _Options(options)) if takes_options else self.function(run)
        first: dict[State, Result] = {}
        for result in [found] if isinstance(found, Result) else found:
            first.setdefault(result.state, result)
            if result.state == "fails":
                break
        docstring = " ".join((self.function.__doc__ or "").partition("\n\n")[0].split())
        return min(first.values(), key=gravity, default=holds(docstring))


def gravity(result: Result | ClaimResult) -> int:
    """Return a sort key: the worst state first."""
    return _GRAVITY.index(result.state)


CHECKS: dict[str, Check] = {}


def check(
    *applies_to: Kind | Literal["claim"],
    needs: tuple[Need, ...] = (),
    unless: Callable[[Run], str | None] | None = None,
) -> Callable[[Function], Function]:
    """Register a function under its name, as `Check` describes."""

    def register(function: Function) -> Function:
        name = function.__name__
        CHECKS[name] = Check(name, function, frozenset(applies_to), needs, unless)
        return function

    return register


def known(claim: str) -> bool:
    """Return whether a job.yml can claim this."""
    found = CHECKS.get(claim)
    return found is not None and "claim" in found.applies_to


def claimed(run: Run, claim: Claim) -> ClaimResult:
    """Apply what a job claims; a claim without a check is unknown.

    Raises:
        RecordError: the claim lacks an option.
    """
    if not known(claim.claim):
        return _recorded(claim.claim, unknown(f"No check is named {claim.claim}."), run.folder)
    return CHECKS[claim.claim].result(run, claim.options)


def results(run: Run) -> list[ClaimResult]:
    """Return the results of all that the run's job claims, and of all checks of its kind.

    Of a foreign run errors come first: it claims what its workflows have, which fails after them.
    """
    applied = [found.result(run) for found in CHECKS.values() if run.kind in found.applies_to]
    claims = [claimed(run, claim) for claim in run.spec.job.proof]
    return [*applied, *claims] if run.foreign else [*claims, *applied]


def without_gpus(run: Run) -> str | None:
    """Exempt a run that was given no GPU."""
    return None if any(site.gpus for site in run.spec.sites) else "The run was given no GPU."


class _Options(dict[str, Any]):
    def __missing__(self, name: str) -> None:
        raise RecordError(f"A claim of this job lacks its option {name!r}.", "give it in job.yml's proof.")


def _recorded(name: str, result: Result, folder: Path) -> ClaimResult:
    at = result.at
    file, line = (at.file, at.line) if isinstance(at, (Line, LogLine)) else (at, None)
    if isinstance(file, Path):
        file = file.relative_to(folder).as_posix()
    return ClaimResult(
        claim=name,
        holds={"holds": True, "fails": False}.get(result.state),
        applies=result.state != "not applicable",
        message=shortened(result.message),
        file=file,
        line=line,
        sha256=sha256(folder / file) if file else None,
    )
