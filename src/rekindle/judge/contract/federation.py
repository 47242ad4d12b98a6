"""That a federation took place: one new global model in every round, and from each site its own."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.judge.run import Run
from rekindle.records.events import RoundEvent
from rekindle.records.evidence import Line

from .registry import Doubt, rule


@rule()
def one_global_model_a_round(run: Run) -> Iterator[Doubt]:
    """Every rank of every site starts a round from one and the same model, new in every round."""
    first: dict[int, Line[RoundEvent]] = {}
    for line in run.of(RoundEvent):
        start = first.setdefault(line.event.round, line)
        if line.event.model_in != start.event.model_in:
            says = f"{_who(line)} started round {line.event.round} from another model than {_who(start)}."
            yield Doubt(says, line, holds=False)
    seen: dict[str, int] = {}
    for number, line in sorted(first.items()):
        before = seen.setdefault(line.event.model_in, number)
        if before != number:
            says = f"Rounds {before} and {number} started from one and the same global model."
            yield Doubt(says, line, holds=False)


@rule()
def every_site_sends_its_own(run: Run) -> Iterator[Doubt]:
    """What a site sends after a round is nobody else's, of no other round, and no global model.

    With one site the global model is that site's own.
    """
    sent: dict[str, Line[RoundEvent]] = {}
    starts = {line.event.model_in: line for line in run.of(RoundEvent)}
    for line in run.of(RoundEvent):
        other = sent.setdefault(line.event.model_out, line)
        if (other.event.site, other.event.round) != (line.event.site, line.event.round):
            says = (
                f"{_who(line)} ended round {line.event.round} with the very weights with which {_who(other)} "
                f"ended round {other.event.round}."
            )
            yield Doubt(says, line, holds=False)
        start = starts.get(line.event.model_out)
        if start and _others(run, line):
            says = (
                f"{_who(line)} ended round {line.event.round} with the very weights from which round "
                f"{start.event.round} started."
            )
            yield Doubt(says, line, holds=False)


def _others(run: Run, line: Line[RoundEvent]) -> bool:
    """Whether a global model is more than this line's result: of several sites, or what it started from."""
    return len(run.spec.sites) > 1 or line.event.model_in == line.event.model_out


@rule()
def final_model_is_an_aggregate(run: Run) -> Iterator[Doubt]:
    """The final model is none from which a round started and, with several sites, none that a site sent."""
    if run.final is None:
        return
    final = run.final.event
    for line in run.of(RoundEvent):
        event = line.event
        if event.round == 0 and final.initial != event.model_in and not run.lossy:
            yield Doubt(f"{_who(line)} did not start from the initial model.", line, holds=False)
        if final.final == event.model_in:
            says = f"The final model is the one from which {_who(line)} started round {event.round}."
            yield Doubt(says, run.final, holds=False)
        if final.final == event.model_out and len(run.spec.sites) > 1:
            says = f"The final model is the one that {_who(line)} sent after round {event.round}."
            yield Doubt(says, run.final, holds=False)
        if final.initial == event.model_out:
            says = f"{_who(line)} ended round {event.round} with the initial model."
            yield Doubt(says, line, holds=False)


@rule()
def no_clones(run: Run) -> Iterator[Doubt]:
    """No two sites tell the same losses, and no two processes the same times, to the last digit."""
    losses: dict[object, Line[RoundEvent]] = {}
    clocks: dict[object, tuple[object, Line[RoundEvent]]] = {}
    for site, rank in run.ranks:
        lines = run.rounds(site, rank)
        if not lines:
            continue
        told = tuple(line.event.losses for line in lines)
        twin = losses.setdefault(told, lines[0]) if any(told) else lines[0]
        if twin.event.site != site:
            yield Doubt(f"{site} tells the losses of {twin.event.site} to the last digit.", lines[0])
        process = run.processes.get((site, rank), (site, rank))
        clock = tuple((line.event.time, line.event.seconds) for line in lines)
        other, first = clocks.setdefault(clock, (process, lines[0]))
        if other != process:
            says = f"{_who(lines[0])} tells the times of {_who(first)} to the last digit."
            yield Doubt(says, lines[0])


def _who(line: Line[RoundEvent]) -> str:
    return f"{line.event.site} rank {line.event.rank}"
