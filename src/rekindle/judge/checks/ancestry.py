# SPDX-License-Identifier: Apache-2.0
"""Whether what a site sent is its own, and comes from the model that it was sent."""

import math
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter, sub

from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.figures import is_measured
from rekindle.judge.means import does_add
from rekindle.judge.run import Run
from rekindle.judge.sketches import reject_vector, share_left, sketch_made
from rekindle.records.events import Sketch, TaskEvent
from rekindle.records.evidence import EvidenceLine

from .aggregation import follow_rounds, group_by_round, group_by_site, skip_without_weights

_GROWN, _ALONG, _SHRUNK = 0.5, 0.95, 0.25
"""By training no model changes by half of itself along itself, or becomes a quarter of itself."""
_CHANCE = 4.0
"""Standard deviations of the correlation of two unrelated models."""
_PLANE, _ROUNDED = 3, 1e-5
"""Sums of a sketch of which chance puts no change into a plane; what rounding leaves of a change, at most."""
_NOT_TAKEN = {
    "reads": "{site} takes nothing of the models that it gets at {place}: it reads no parameter, or loads "
    "them with strict=False and other names. It may train a model of its own.",
    "steps": "{site}'s optimizer does not begin from the models that it gets at {place}, but from weights "
    "that the site had before: it may load a checkpoint of its own.",
    "turns": "{site} gets the same model at {place} over and over, and sends no result.",
}


def _others_data(run: Run) -> str | None:
    example = run.spec.job.example
    if example and example.folder:
        return "Sites of NVFlare's own examples may have the same data and do the same."
    return skip_without_weights(run) or (None if len(run.spec.sites) > 1 else "The job has one site.")


@register_check(
    "federated",
    holds="No site sent the weights that another site sent, or itself in another round, and no global model.",
    unless=_others_data,
)
def results_are_their_own(run: Run) -> Iterator[Result]:
    seen: dict[Sketch, TaskEvent] = {}
    models: dict[Sketch, int | None] = {}
    same: dict[str, list[EvidenceLine[TaskEvent]]] = {}
    for line in (line for line in run.training.models if line.event.round not in run.training.converged):
        models.setdefault(line.event.sent, line.event.round)
        if any(line.event.sketch) and line.event.sketch in models:
            message = (
                f"{line.event.site} sent in round {line.event.round} the global model of round "
                f"{models[line.event.sketch]}, to the last digit."
            )
            yield fails(message, line)
        event, earlier = line.event, seen.setdefault(line.event.sketch, line.event)
        if not any(event.sketch) or (earlier.site, earlier.round) == (event.site, event.round):
            continue
        if event.round == earlier.round and event.metrics and event.metrics == earlier.metrics:
            same.setdefault(f"{event.site} and {earlier.site}", []).append(line)
        else:
            yield unknown(_say_copied(event, earlier), line)
    for sites, lines in same.items():
        first = lines[0].event
        if any(is_measured(*figure) for line in lines for figure in line.event.metrics.items()):
            message = (
                f"{sites} sent the same weights and metrics in round {first.round}, as sites do that have"
            )
            yield holds(f"{message} the same data and seed.", run.training.models[-1])
        else:
            yield unknown(_say_copied(first, seen[first.sketch]), lines[0])
    for site, theirs in group_by_site(run).items():
        for before, line in pairwise(theirs):
            if _mixes(line.event, before.event):
                message = (
                    f"{site} sent in round {line.event.round} a mixture of the models that it had sent and "
                    "got: nothing shows that it trained."
                )
                yield unknown(message, line)


def _say_copied(event: TaskEvent, earlier: TaskEvent) -> str:
    return (
        f"{event.site} sent in round {event.round} the weights of {earlier.site} in round {earlier.round}, "
        "to the last digit."
    )


def _mixes(event: TaskEvent, before: TaskEvent) -> bool:
    """Whether what a site made lies in one plane with what it got, and what it got and made before."""
    models = event.sent, event.sketch, before.sent, before.sketch
    if event.kept is None or not event.sent or len({*map(len, models)}) > 1:
        return False
    got, sent, change = (
        [*map(sub, model, event.sent)] for model in (before.sent, sketch_made(before), sketch_made(event))
    )
    rest = reject_vector(reject_vector(change, got), reject_vector(sent, got))
    return sum(map(bool, change)) > _PLANE and math.hypot(*rest) < _ROUNDED * math.hypot(*change)


@register_check(
    "federated",
    holds="A site's result is closer to the model that it was sent than chance would have it.",
    unless=skip_without_weights,
)
def results_come_from_the_global_model(run: Run) -> Iterator[Result]:
    """So is that model to the results of the round before. What a workflow adds to its model need not be."""
    if does_add(follow_rounds(run)):
        yield holds("The workflow adds what sites send to its model: it is a change, as a gradient is.")
    else:
        yield from _unrelated(run)
    for note in (note for note in run.misuses if note.event.by in _NOT_TAKEN):
        message = _NOT_TAKEN[note.event.by].format(site=note.event.site, place=note.event.place)
        yield unknown(message, note)


def _unrelated(run: Run) -> Iterator[Result]:
    first = group_by_round(run)[0][1]
    later = run.training.models[len(first) :]
    for what, lines in (("in the first round", first), ("after the first round", later)):
        compared = [line for line in lines if line.event.kept is not None]
        for site in sorted({line.event.site for line in compared}):
            theirs = [line for line in compared if line.event.site == site]
            if all(_by_chance(line.event.kept, line.event, _left_of_it(line.event)) for line in theirs):
                message = (
                    f"{site}'s results {what} have nothing to do with the model that it was sent "
                    f"(correlation {theirs[0].event.kept:.3f})."
                )
                yield fails(message, theirs[0])
        beside = [line for line in compared if line.event.alike is not None]
        if beside and all(
            _by_chance(line.event.alike, line.event, _left_of_it(line.event) ** 2) for line in beside
        ):
            message = (
                f"Results of two sites {what} have nothing in common, although both got one model "
                f"(correlation {beside[0].event.alike:.3f})."
            )
            yield fails(message, beside[0])
    follow = [line for line in run.training.models if line.event.follows is not None]
    if follow and all(_by_chance(line.event.follows, line.event) for line in follow):
        message = (
            "The model that sites got in each round has nothing to do with the results before it "
            f"(correlation {follow[0].event.follows:.3f})."
        )
        yield fails(message, follow[0])
    for site, theirs in group_by_site(run).items():
        if all(share_left(line.event) < _SHRUNK for line in theirs):
            message = (
                f"{site} sent models with {share_left(theirs[0].event):.0%} of what it was sent in them: "
                "it may train a new model in each round."
            )
            yield unknown(message, theirs[0])
    for line in first:
        if line.event.moved is not None and not line.event.sent:
            message = (
                f"{line.event.site} sent its weights under other names than it was sent them: "
                "the model that the server began with, and saves, stays untrained."
            )
            yield unknown(message, line)
    yield from _unlike_others(first)
    if mistaken := _mistaken([line.event for line in first if line.event.kept is not None]):
        yield unknown(mistaken, first[0])


def _unlike_others(first: list[EvidenceLine[TaskEvent]]) -> Iterator[Result]:
    """Yield the site that keeps nothing of the first model where every other clearly does.

    Where training makes a small model many times larger, what is left of it shows nothing of one site alone.
    """
    kept = [(abs(line.event.kept), line) for line in first if line.event.kept is not None]
    least, line = min(kept, key=itemgetter(0), default=(0.0, None))
    others = [other.event for _, other in kept if line and other.event.site != line.event.site]
    if line is None or not others:
        return
    theirs = min(event.kept or 0.0 for event in others)
    expected = min(map(share_left, others)) * _left_of_it(line.event)
    chance = _chance(line.event)
    if theirs > chance and least < min(chance, expected - chance):
        message = (
            f"{line.event.site}'s first result has nothing of the model that it was sent (correlation "
            f"{least:.3f}), and all others have (at least {theirs:.3f}): it may train a model of its own."
        )
        yield unknown(message, line)


def _mistaken(first: list[TaskEvent]) -> str | None:
    """Return whether sites sent the model where a change of it was due, or the reverse."""
    large = (e.kind == "WEIGHT_DIFF" and (e.relative or 0) > _GROWN and (e.kept or 0) > _ALONG for e in first)
    if first and all(large):
        return "What sites sent as a change of the model in the first round is about the model itself."
    if first and all(e.kind == "WEIGHTS" and e.relative is not None and e.relative < _SHRUNK for e in first):
        return "What sites sent as the model in the first round is no larger than a change of it."
    return None


def _left_of_it(event: TaskEvent) -> float:
    """Return the correlation of a result with the model that it comes from, if nothing points back there.

    A small model that training makes many times larger has nearly none: that shows nothing.
    """
    return 1.0 / max(1.0, event.relative or 1.0)


def _chance(event: TaskEvent) -> float:
    """Return the largest correlation that chance gives to unrelated models of that size."""
    return _CHANCE / math.sqrt(max(event.values, 1))


def _by_chance(correlation: float | None, event: TaskEvent, expected: float = 1.0) -> bool:
    """Whether a correlation is one of unrelated models, where clearly more is ``expected``."""
    chance = _chance(event)
    return correlation is not None and abs(correlation) <= chance and expected > 2 * chance
