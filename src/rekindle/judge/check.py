# SPDX-License-Identifier: Apache-2.0
"""The register of checks: what each needs, the runs to which it applies, and its result for one run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rekindle.flare.workspace import LogLine
from rekindle.host.files import digest_file
from rekindle.records import Claim, ClaimResult, RecordError, RunEnd, events
from rekindle.records.evidence import EvidenceLine
from rekindle.records.text import shorten_text
from rekindle.records.verdict import CheckState

from .run import Kind, Run


class Result(NamedTuple):
    """What a run's files show of one check."""

    state: CheckState
    message: str
    at: EvidenceLine[Any] | LogLine | Path | str | None = None
    """Where it was seen; a path, or a name in the run's folder, is a file."""


holds = partial(Result, "holds")
"""The run passes this check."""
fails = partial(Result, "fails")
"""The run itself went wrong."""
unknown = partial(Result, "unknown")
"""The run's files contradict each other, or do not show it."""


def hold_if(condition: object, message: str, at: Any = None) -> Result:
    """The run passes if ``condition`` is true, and fails otherwise."""
    return (holds if condition else fails)(message, at)


Options = Mapping[str, Any]
"""Of a claim, from job.yml's proof."""
Question = Callable[[Run], "Result | Iterable[Result]"]
ClaimQuestion = Callable[[Run, Options], "Result | Iterable[Result]"]
"""Pure. Returns the run's result, or yields each place where it fails, and what there is to report."""
Need = type[events.Event] | type[RunEnd]
_GRAVITY: tuple[CheckState, ...] = ("fails", "unknown", "holds", "not applicable")
_KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    float: ((float, int), "a number"),
    list: ((list, tuple), "a list"),
}
"""Of options: what YAML may have for each, and what it is called."""
_PARTS: dict[Need, str] = {
    events.AcceptanceEvent: "figures of its GPUs",
    events.DeviceEvent: "device of a rank",
    RunEnd: "record of its end",
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
    ask: ClaimQuestion
    applies_to: frozenset[Kind | Literal["claim"]]
    """Kinds of runs that it always applies to; ``claim``: jobs that name it in their proof."""
    holds: str
    """What a run shows that passes, one sentence; its result, where the question reports nothing more."""
    needs: tuple[Need, ...]
    unless: Callable[[Run], str | None] | None = None
    """Returns why the check does not apply to a run, in one sentence; None if it does."""
    of_all: bool = True
    """Whether it speaks of every simulation of a run; else of those whose workflows leave its subject."""
    takes: Mapping[str, type] = {}
    """The options that a claim has to have: ``str``, ``float`` or ``list``."""
    may_take: Mapping[str, type] = {}
    """And those that it may have."""

    def find_mistakes(self, options: Options) -> Iterator[str]:
        """Yield each mistake in what a job.yml gives as this claim's options: a clause."""
        known = {**self.may_take, **self.takes}
        for name in (name for name in self.takes if name not in options):
            yield f"it claims {self.name!r} without its option {name!r}"
        for name in (name for name in options if name not in known):
            has = f", which has {' and '.join(known)}" if known else ", which has none"
            yield f"it gives an option {name!r} to {self.name!r}{has}"
        for name, kind in known.items():
            if name in options and not isinstance(options[name], _KINDS[kind][0]):
                yield f"it gives {options[name]!r} as {name!r} of {self.name!r}, which is {_KINDS[kind][1]}"

    def speaks_of(self, run: Run) -> bool:
        """Whether it speaks of a simulation."""
        return self.of_all or any(flow.is_subject_of(self.name) for flow in run.account.flows)

    def result(self, run: Run, options: dict[str, Any] | None = None) -> ClaimResult:
        """Apply the check to ``run``.

        Raises:
            OSError: the file that shows the result cannot be read.
            RecordError: the claim's options are not those that it has.
        """
        return _recorded(self.name, self._worst(run, options or {}), run.folder)

    def _worst(self, run: Run, options: dict[str, Any]) -> Result:
        if self.unless and (why := self.unless(run)):
            return Result("not applicable", why)
        for need in self.needs:
            if not run.has_evidence(need):
                return unknown(f"The run left no {_PARTS[need]}.")
        if mistake := next(self.find_mistakes(options), None):
            raise RecordError(f"The job's proof is wrong: {mistake}.", "correct it in job.yml's proof.")
        found = self.ask(run, options)
        first: dict[CheckState, Result] = {}
        for result in [found] if isinstance(found, Result) else found:
            first.setdefault(result.state, result)
            if result.state == "fails":
                break
        return min(first.values(), key=rank_result, default=holds(self.holds))


def rank_result(result: Result | ClaimResult) -> int:
    """Return a sort key: the worst state first."""
    return _GRAVITY.index(result.state)


CHECKS: dict[str, Check] = {}


def register_check(
    *applies_to: Kind,
    holds: str,
    needs: tuple[Need, ...] = (),
    unless: Callable[[Run], str | None] | None = None,
) -> Callable[[Question], Question]:
    """Register a question that is asked of every run of these kinds, as `Check` describes."""

    def register(question: Question) -> Question:
        name = question.__name__
        kinds = frozenset(applies_to)
        CHECKS[name] = Check(name, lambda run, options: question(run), kinds, holds, needs, unless)
        return question

    return register


def register_claim(
    *,
    holds: str,
    needs: tuple[Need, ...] = (),
    of_all: bool = False,
    takes: Mapping[str, type] = {},
    may_take: Mapping[str, type] = {},
) -> Callable[[ClaimQuestion], ClaimQuestion]:
    """Register a question that is asked of the runs whose job names it in its proof, as `Check` describes."""

    def register(question: ClaimQuestion) -> ClaimQuestion:
        name = question.__name__
        CHECKS[name] = Check(
            name,
            question,
            frozenset({"claim"}),
            holds,
            needs,
            of_all=of_all,
            takes=takes,
            may_take=may_take,
        )
        return question

    return register


def is_claim(name: str) -> bool:
    """Return whether a job.yml can claim this."""
    return name in CHECKS and "claim" in CHECKS[name].applies_to


def check_claims(run: Run, named: Claim) -> ClaimResult:
    """Apply what a job claims; a claim without a check is unknown.

    Raises:
        RecordError: the claim's options are not those that it has.
    """
    if not is_claim(named.claim):
        return _recorded(named.claim, unknown(f"No check is named {named.claim}."), run.folder)
    return CHECKS[named.claim].result(run, named.options)


def check_simulations(runs: Sequence[Run]) -> tuple[ClaimResult, ...]:
    """Return the worst result of each claim and check over the simulations of one run.

    A claim that speaks of none of them is asked of all.
    """
    evidence = []
    for results in zip(*map(check_run, runs), strict=True):
        check = CHECKS.get(results[0].claim)
        own = [result for run, result in zip(runs, results, strict=True) if check and check.speaks_of(run)]
        evidence.append(min(own or results, key=rank_result))
    return tuple(evidence)


def check_run(run: Run) -> list[ClaimResult]:
    """Return the results of all that the run's job claims, and of all checks of its kind.

    Of a foreign run errors come first: it claims what its workflows have, which fails after them.
    """
    applied = [found.result(run) for found in CHECKS.values() if run.kind in found.applies_to]
    claims = [check_claims(run, named) for named in run.spec.job.proof]
    return [*applied, *claims] if run.kind == "foreign" else [*claims, *applied]


def skip_without_gpus(run: Run) -> str | None:
    """Exempt a run that was given no GPU."""
    return None if any(site.gpus for site in run.spec.sites) else "The run was given no GPU."


def _recorded(name: str, result: Result, folder: Path) -> ClaimResult:
    at = result.at
    file, line = (at.file, at.line) if isinstance(at, (EvidenceLine, LogLine)) else (at, None)
    if isinstance(file, Path):
        file = file.relative_to(folder).as_posix()
    return ClaimResult(
        claim=name,
        state=result.state,
        message=shorten_text(result.message),
        file=file,
        line=line,
        sha256=_digest(folder / file) if file else None,
    )


def _digest(path: Path) -> str | None:
    with suppress(OSError):  # the result says what is wrong with it
        return digest_file(path)
    return None
