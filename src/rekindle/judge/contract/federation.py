"""That a federation took place: one new global model in every round, and from each site its own."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.judge.run import Run
from rekindle.records.events import FinalEvent, RoundEvent
from rekindle.records.evidence import Line

from .registry import Doubt, rule


@rule(needs=(RoundEvent,))
def one_global_model_a_round(run: Run) -> Iterator[Doubt]:
    """Every rank of every site starts a round from one and the same model, new in every round."""
    first: dict[int, Line[RoundEvent]] = {}
    for line in run.of(RoundEvent):
        event, start = line.event, first.setdefault(line.event.round, line).event
        if event.model_in != start.model_in:
            says = f"{event.who} started round {event.round} from another model than {start.who}."
            yield Doubt(says, line, holds=False)
    seen: dict[str, int] = {}
    for number, line in sorted(first.items()):
        before = seen.setdefault(line.event.model_in, number)
        if before != number:
            says = f"Rounds {before} and {number} started from one and the same global model."
            yield Doubt(says, line, holds=False)


@rule(needs=(RoundEvent,))
def every_site_sends_its_own(run: Run) -> Iterator[Doubt]:
    """What a site sends after a round is nobody else's, of no other round, and no global model.

    With one site the global model is that site's own.
    """
    sent: dict[str, RoundEvent] = {}
    starts = {line.event.model_in: line.event.round for line in run.of(RoundEvent)}
    for line in run.of(RoundEvent):
        event, earlier = line.event, sent.setdefault(line.event.model_out, line.event)
        ended = f"{event.who} ended round {event.round} with the very weights"
        if (earlier.site, earlier.round) != (event.site, event.round):
            says = f"{ended} with which {earlier.who} ended round {earlier.round}."
            yield Doubt(says, line, holds=False)
        start = starts.get(event.model_out)
        if start is not None and _others(run, event):
            yield Doubt(f"{ended} from which round {start} started.", line, holds=False)


def _others(run: Run, event: RoundEvent) -> bool:
    """Whether a global model is more than this rank's result: of several sites, or what it started from."""
    return len(run.spec.sites) > 1 or event.model_in == event.model_out


@rule(needs=(RoundEvent, FinalEvent))
def final_model_is_an_aggregate(run: Run) -> Iterator[Doubt]:
    """The final model is none from which a round started and, with several sites, none that a site sent."""
    if run.final is None:
        return
    final = run.final.event
    for line in run.of(RoundEvent):
        event = line.event
        if event.round == 0 and final.initial != event.model_in and not run.lossy:
            yield Doubt(f"{event.who} did not start from the initial model.", line, holds=False)
        if final.final == event.model_in:
            says = f"The final model is the one from which {event.who} started round {event.round}."
            yield Doubt(says, run.final, holds=False)
        if final.final == event.model_out and len(run.spec.sites) > 1:
            says = f"The final model is the one that {event.who} sent after round {event.round}."
            yield Doubt(says, run.final, holds=False)
        if final.initial == event.model_out:
            yield Doubt(f"{event.who} ended round {event.round} with the initial model.", line, holds=False)


@rule(needs=(RoundEvent,))
def no_clones(run: Run) -> Iterator[Doubt]:
    """No two sites tell the same losses, and no two processes the same times, to the last digit."""
    losses: dict[object, Line[RoundEvent]] = {}
    clocks: dict[object, tuple[object, Line[RoundEvent]]] = {}
    for site, rank in run.ranks:
        lines = run.rounds(site, rank)
        if not lines:
            continue
        losses_of_rank = tuple(line.event.losses for line in lines)
        twin = losses.setdefault(losses_of_rank, lines[0]) if any(losses_of_rank) else lines[0]
        if twin.event.site != site:
            yield Doubt(f"{site} tells the losses of {twin.event.site} to the last digit.", lines[0])
        process = run.processes.get((site, rank), (site, rank))
        clock = tuple((line.event.time, line.event.seconds) for line in lines)
        owner, first = clocks.setdefault(clock, (process, lines[0]))
        if owner != process:
            says = f"{lines[0].event.who} tells the times of {first.event.who} to the last digit."
            yield Doubt(says, lines[0])
