"""What our component at NVFlare's server saw, against what the trainers tell: runs of spec/2."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import mul
from statistics import median

from rekindle.judge.run import Run
from rekindle.records.events import ContributionEvent, FinalEvent, GlobalEvent, RoundEvent, Sketch

from .registry import Doubt, rule

_EXACT = 1e-6
"""Relative to the largest figure of a sketch: means of float32, off by 4e-8 at most in recorded runs."""
_FURTHER = 100.0
_LEAST_SHARE = 0.01
"""Of a round's way that a training ends from its start, at least."""
_QUANTISED = 5e-3
"""The same where messages are quantised to 16 bits or fewer: 3e-4 at most in recorded runs."""


@rule(2)
def server_told_every_round(run: Run) -> Iterator[Doubt]:
    """The server told the global model of every round and the last, and each site's result of every round."""
    rounds = run.spec.job.rounds
    models = {line.event.round for line in run.of(GlobalEvent)}
    if models != set(range(rounds + 1)):
        yield Doubt(f"The server told the global models of rounds {sorted(models)}, not 0 to {rounds}.")
    wanted = {(site.name, number) for site in run.spec.sites for number in range(rounds)}
    results = {(line.event.site, line.event.round) for line in run.of(ContributionEvent)}
    for site, number in sorted(wanted ^ results):
        due = (site, number) in wanted
        says = "told nothing" if due else "told, unasked,"
        yield Doubt(f"The server {says} of {site}'s result of round {number}.")


@rule(2, needs=(ContributionEvent,))
def contributions_are_sound(run: Run) -> Iterator[Doubt]:
    """Each result had the return code OK, finite weights that moved, and counted more than 0."""
    for line in run.of(ContributionEvent):
        event, what = line.event, f"{line.event.site}'s result of round {line.event.round}"
        if event.return_code != "OK":
            yield Doubt(f"{what} has the return code {event.return_code}.", line, holds=False)
        if not event.finite or event.distance is None:
            yield Doubt(f"{what} is not finite.", line, holds=False)
        elif event.distance <= 0:
            yield Doubt(f"{what} is the global model that it was sent.", line, holds=False)
        if not 0 < _weight(event) < math.inf:
            yield Doubt(f"{what} counts {event.weight}.", line)


@rule(2, needs=(ContributionEvent,))
def contributions_go_as_far(run: Run) -> Iterator[Doubt]:
    """No result is a hundred times as far from the global model as the others, or a hundredth as far."""
    lines = run.of(ContributionEvent)
    usual = median([line.event.distance or 0.0 for line in lines] or [0.0])
    for line in lines:
        distance = line.event.distance or 0.0
        if not usual / _FURTHER <= distance <= usual * _FURTHER:
            yield Doubt(
                f"{line.event.site} went {distance:g} in round {line.event.round}; {usual:g} is usual.", line
            )


@rule(2, needs=(RoundEvent, GlobalEvent))
def trainers_start_from_the_servers_model(run: Run) -> Iterator[Doubt]:
    """The model from which every rank starts a round is the one that the server had, by digest and sketch."""
    models = {line.event.round: line.event for line in run.of(GlobalEvent)}
    for line in run.of(RoundEvent):
        event, model = line.event, models.get(line.event.round)
        if model and not _is(event.model_in, event.sketch_in, model, run):
            says = f"{event.who} started round {event.round} from another model than the server's."
            yield Doubt(says, line, holds=False)


@rule(2, needs=(RoundEvent, ContributionEvent))
def server_gets_what_trainers_made(run: Run) -> Iterator[Doubt]:
    """What the server got from a site is what every rank of it ended the round with, by digest and sketch."""
    results = {(line.event.site, line.event.round): line.event for line in run.of(ContributionEvent)}
    for line in run.of(RoundEvent):
        event, result = line.event, results.get((line.event.site, line.event.round))
        if result and not _is(event.model_out, event.sketch_out, result, run):
            says = f"The server got another model in round {event.round} than {event.who} made."
            yield Doubt(says, line, holds=False)


@rule(2, needs=(GlobalEvent, ContributionEvent))
def aggregated_from_all(run: Run) -> Iterator[Doubt]:
    """The next global model is the mean of the sites' results by their weights, as its sketch shows."""
    models = {line.event.round: line for line in run.of(GlobalEvent)}
    results: dict[int, list[ContributionEvent]] = {}
    for line in run.of(ContributionEvent):
        results.setdefault(line.event.round, []).append(line.event)
    for number, of_round in sorted(results.items()):
        following = models.get(number + 1)
        mean = weighted_mean([(_weight(result), result.sketch) for result in of_round])
        if following is None or mean is None:
            continue
        if not same_sketch(mean, following.event.sketch, _tolerance(run)):
            says = f"The global model after round {number} is not the mean of what the sites sent in it."
            yield Doubt(says, following, holds=False)


@rule(2, needs=(FinalEvent, GlobalEvent, ContributionEvent))
def final_model_is_the_servers(run: Run) -> Iterator[Doubt]:
    """The final model is the server's last, the first its first, no further apart than the rounds."""
    models = {line.event.round: line.event for line in run.of(GlobalEvent)}
    first, last = models.get(0), models.get(run.spec.job.rounds)
    if run.final is None or first is None or last is None:
        return
    final = run.final.event
    if final.final != last.digest:
        yield Doubt("The final model is not what the server aggregated last.", run.final, holds=False)
    if final.initial != first.digest:
        yield Doubt("The initial model is not the one from which the server began.", run.final, holds=False)
    steps: dict[int, float] = {}
    for line in run.of(ContributionEvent):
        steps[line.event.round] = max(steps.get(line.event.round, 0.0), line.event.distance or 0.0)
    most = sum(steps.values())
    if final.distance is not None and final.distance < _LEAST_SHARE * max(steps.values(), default=0.0):
        says = (
            f"The final model is {final.distance:g} from the first; one round went {max(steps.values()):g}."
        )
        yield Doubt(says, run.final)
    if final.distance is not None and final.distance > most * (1 + _tolerance(run)):
        says = f"The final model is {final.distance:g} from the first; the rounds went {most:g} at most."
        yield Doubt(says, run.final)


def weighted_mean(results: Sequence[tuple[float, Sketch]]) -> Sketch | None:
    """Return the mean of sketches by their weights; None where the weights add up to nothing."""
    total = sum(weight for weight, _ in results)
    if not total:
        return None
    by_part = zip(*(sketch for _, sketch in results), strict=False)
    weights = [weight for weight, _ in results]
    return tuple(sum(map(mul, weights, values)) / total for values in by_part)


def _is(digest: str, sketch: Sketch | None, seen: GlobalEvent | ContributionEvent, run: Run) -> bool:
    """Whether a trainer's model is the one that the server saw."""
    return same_sketch(sketch, seen.sketch, _tolerance(run)) and (run.lossy or digest == seen.digest)


def _weight(event: ContributionEvent) -> float:
    """Return what a result counts; FedAvg takes one that tells nothing for 1."""
    return 1.0 if event.weight is None else event.weight


def _tolerance(run: Run) -> float:
    return _QUANTISED if run.lossy else _EXACT


def same_sketch(first: Sketch | None, second: Sketch | None, tolerance: float = _EXACT) -> bool:
    """Whether two sketches are of one model, within ``tolerance`` of their largest figure."""
    if first is None or second is None or len(first) != len(second):
        return False
    scale = max((abs(value) for value in (*first, *second)), default=0.0)
    return math.isfinite(scale) and all(
        abs(a - b) <= tolerance * max(scale, 1e-12) for a, b in zip(first, second, strict=True)
    )
