# SPDX-License-Identifier: Apache-2.0
"""What a global model is of the results before it: their mean, or something that looks like one."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, combinations, pairwise
from operator import add, mul, sub

from rekindle.records.events import Sketch, TaskEvent

from .sketches import MEAN, average_sketches, is_same, reject_vector, share_left, sketch_made

_RATES = (0.1, 10.0)
"""Of the step that a server makes of the mean change: smaller or larger ones learn nothing, or diverge."""
_OFF = 0.2
"""Of a model that is a multiple of the mean."""
_MASKED = 100.0
"""A result so many times as large as the model is not one: it is weighted by a count, or masked."""
_AGAINST = {"WEIGHTS": 0.9, "WEIGHT_DIFF": 0.3}
"""Cosine of a step that goes away from the results; of differences an optimizer may turn it."""
_STEPS, _FAR, _BACK = 3, 0.5, 0.7
"""Of a model that goes to and fro: steps, a result's way as a share of it, cosine of two steps in a row."""
_REST = 0.02
"""Of a step, what is left without the results' parts in it, at most."""
_APART, _MIXED = 1e-3, 1e-3
"""Shares of a model: how far results are apart where a mean tells them apart; what is left of its step."""
_STILL = 0.01
"""Of a model that stays: a result, as a product of it, may be so large that any step is a small share."""
_COMBINED = 8
"""Sites of which every combination is tried, at most."""
Round = tuple[list[TaskEvent], Sketch]
"""The results of a round, and the model that followed."""


def find_weight(event: TaskEvent) -> float:
    """Return a result's weight in the mean; 1 by NVFlare's default."""
    return 1.0 if event.weight is None else event.weight


def find_flaws(rounds: Sequence[Round], improves: bool) -> Iterator[str]:
    """Yield what each round's model is, of its results, that it should not be.

    A model that ``improves`` by what sites report may be any step of their results, as of gradients; one that
    stays improves by none.
    """
    if idle := _not_counted(rounds):
        yield f"the mean without {idle}"
    if len(rounds) < 2:
        return
    so_far = accumulate((events for events, _ in rounds), add)
    if all(map(is_mean, [model for _, model in rounds], so_far)):
        yield "the mean of all results so far, of earlier rounds too"
    if _adds_up(rounds):
        yield "the one before with the differences of all rounds so far, of earlier ones again"
    if _is_stale(rounds):
        yield "one of earlier results alone, without those of its own round"
    scales = [_scale(*each) for each in rounds]
    masked = improves and all((event.relative or 0) > _MASKED for events, _ in rounds for event in events)
    if not masked and all(abs(scale - 1) > _OFF for scale in scales):
        yield f"{scales[-1]:.2g} times the mean of the results"
    away = [_away(*each) for each in rounds]  # BatchNorm's figures, which no optimizer moves, hide the first
    if not improves and sum(away) > 1 and all(away[1:]):
        yield "a step away from the results"
    rates = find_step_rates(rounds)
    stays = all(is_same(events[0].sent, model, _STILL) for events, model in rounds)
    if rates and stays and all(abs(rate) < MEAN for rate in rates):
        yield "the one before it, whatever sites sent"
    elif rates and not improves and all(abs(rate) < _RATES[0] or abs(rate) > _RATES[1] for rate in rates):
        yield f"a step of {rates[-1]:.2g} times the mean change that sites sent"


def find_residue(events: Sequence[TaskEvent], made: Mapping[str, Sketch]) -> float:
    """Return what the mean keeps of what sites' filters added, as a share of the most that one added.

    Only of what cancels in the sum of the results, as pairwise masks do; else 0.

    Args:
        events: the results of a round, as the server got them
        made: the results before the filters, by site
    """
    added = [[*map(sub, event.sketch, made.get(event.site, ()))] for event in events]
    most, whole = (
        max(math.hypot(*one) for one in added),
        [sum(values) for values in zip(*added, strict=False)],
    )
    mean = average_sketches([find_weight(event) for event in events], [tuple(one) for one in added])
    if not all(added) or mean is None or most < _APART * max(math.hypot(*event.sketch) for event in events):
        return 0.0
    return math.hypot(*mean) / most if math.hypot(*whole) < _MIXED * most else 0.0


def find_step_rates(rounds: Sequence[Round]) -> list[float]:
    """Return each step to the next model along the mean of the changes, as a share of that.

    Rounds that changed nothing have none.
    """
    return [rate for events, model in rounds if (rate := _step_rate(events, model)) is not None]


def _step_rate(events: list[TaskEvent], model: Sketch) -> float | None:
    change, step = _steps(events, model)
    length = math.hypot(*change)
    return sum(map(mul, change, step)) / length**2 if length > MEAN * math.hypot(*model) else None


def does_add(rounds: Sequence[Round]) -> bool:
    """Return whether each model is the one before and a sum of the results, whatever their factors.

    What is sent as weights is a change then, as a gradient is.
    """
    return len(rounds) > 1 and all(
        _is_told(model, events)
        and all(event.kind == "WEIGHTS" and len(event.sent) == len(model) for event in events)
        and _lies_in([*map(sub, model, events[0].sent)], [[*event.sketch] for event in events])
        for events, model in rounds
    )


def _is_told(model: Sketch, results: Sequence[TaskEvent]) -> bool:
    """Whether so few results made a model, if it is made of them: of more, chance makes half of its sums."""
    return 2 * len(results) <= sum(map(bool, model))


def _lies_in(step: list[float], results: list[list[float]], rest: float = _REST) -> bool:
    length = math.hypot(*step)
    others: list[list[float]] = []
    for result in results:
        others.append(reduce(reject_vector, others, result))
    return length > 0 and math.hypot(*reduce(reject_vector, others, step)) < rest * length


def _adds_up(rounds: Sequence[Round]) -> bool:
    """Whether each model is the one before and the mean of the differences of all rounds so far."""
    so_far: list[TaskEvent] = []
    for events, model in rounds:
        so_far += events
        if any(event.kind != "WEIGHT_DIFF" for event in events):
            return False
        means = _means(so_far, [event.sketch for event in so_far])
        if not any(is_same(tuple(map(add, events[0].sent, mean)), model, MEAN) for mean in means):
            return False
    return True


def _is_stale(rounds: Sequence[Round]) -> bool:
    """Whether each step after the first is one of earlier results, and that of its own round is not."""
    told = []
    so_far = accumulate((events for events, _ in rounds), add)
    for earlier, (events, model) in zip(so_far, rounds[1:], strict=False):
        change, step = _steps(events, model)
        moves = min(math.hypot(*change), math.hypot(*step)) > _APART * math.hypot(*model)
        if moves and _is_told(model, earlier):
            ways = [[*map(sub, sketch_made(event), events[0].sent)] for event in earlier]
            told.append(_lies_in(step, ways, _MIXED) and not _lies_in(change, ways))
    return any(told) and all(told)


def find_swing(rounds: Sequence[Round]) -> bool:
    """Return whether each round, all of the same sites, takes back much of what the one before changed."""
    of_all = [event for events, _ in rounds for event in events]
    if len(rounds) < _STEPS or len({frozenset(event.site for event in events) for events, _ in rounds}) > 1:
        return False
    if not all(event.kind == "WEIGHTS" and (event.moved or 0) > _FAR * (event.norm or 0) for event in of_all):
        return False
    models = [*(events[0].sent for events, _ in rounds), rounds[-1][1]]
    if len({*map(len, models)}) > 1:
        return False
    steps = [[*map(sub, after, before)] for before, after in pairwise(models)]
    return all(_cosine(*pair) < -_BACK for pair in pairwise(steps))


def _cosine(ours: Sequence[float], theirs: Sequence[float]) -> float:
    along: float = sum(map(mul, ours, theirs))
    return along / (math.hypot(*ours) * math.hypot(*theirs) or math.inf)


def _scale(events: list[TaskEvent], model: Sketch) -> float:
    """Return how many times the mean of the results a model is; 1 if it is no multiple, or of shares."""
    for mean in _means(events, [sketch_made(event) for event in events]):
        scale: float = sum(map(mul, mean, model)) / (sum(map(mul, mean, mean)) or math.inf)
        if is_same(tuple(scale * value for value in mean), model, MEAN) and abs(scale - 1) > _OFF:
            shares = [
                share_left(event) if event.kept is not None else event.relative or 1.0 for event in events
            ]
            return scale * math.fsum(shares) / len(shares)
    return 1.0


def _away(events: list[TaskEvent], model: Sketch) -> bool:
    """Whether the step from what sites were sent to the next model is against the mean of their changes."""
    change, step = _steps(events, model)
    return _cosine(change, step) < -max(_AGAINST.get(event.kind, _AGAINST["WEIGHTS"]) for event in events)


def _not_counted(rounds: Sequence[Round]) -> str:
    """Return whose results no round's mean has, or in turn not; empty if a round has those of all."""
    idle = [_left_out(*each) for each in rounds]
    if not idle or not all(idle):
        return ""
    names = sorted({site for sites in idle for site in sites})
    if all(sites == idle[0] for sites in idle):
        return f"{names[0]}'s result" if len(names) == 1 else f"the results of {' and '.join(names)}"
    return f"one result in each, {' and '.join(names)} in turn"


def _left_out(events: list[TaskEvent], model: Sketch) -> frozenset[str]:
    """Return the sites without whose results a model is the mean of the others'; none if all count."""
    if is_mean(model, events) or len(events) > _COMBINED:
        return frozenset()
    for size in range(len(events) - 1, 0, -1):
        for some in combinations(events, size):
            if is_mean(model, some) or _is_mix(model, some):
                return frozenset(event.site for event in events if event not in some)
    return frozenset()


def is_mean(model: Sketch, events: Sequence[TaskEvent]) -> bool:
    """Return whether a model is the mean of results, by their weights or as equals."""
    return any(
        is_same(mean, model, MEAN) for mean in _means(events, [sketch_made(event) for event in events])
    )


def _is_mix(model: Sketch, events: Sequence[TaskEvent]) -> bool:
    """Return whether a model is a mean of results by weights that nobody told."""
    first, *others = (sketch_made(event) for event in events)
    if any(len(one) != len(model) for one in (first, *others)) or not _is_told(model, events):
        return False
    ways = [[*map(sub, one, first)] for one in others]
    apart = all(math.hypot(*way) > _APART * math.hypot(*model) for way in ways)
    return bool(ways) and apart and _lies_in([*map(sub, model, first)], ways, _MIXED)


def _means(events: Sequence[TaskEvent], sketches: Sequence[Sketch]) -> list[Sketch]:
    """Return the mean of sketches by the weights of their results, and as equals; those that they have."""
    weights = [find_weight(event) for event in events], [1.0] * len(events)
    return [mean for given in weights if (mean := average_sketches(given, sketches)) is not None]


def _steps(events: Sequence[TaskEvent], model: Sketch) -> tuple[list[float], list[float]]:
    """Return the steps from what sites were sent to the weighted mean of their results, and to a model.

    Both are of zeros where there is no such mean.
    """
    sent = events[0].sent
    mean = average_sketches(
        [find_weight(event) for event in events], [sketch_made(event) for event in events]
    )
    ends = (mean, model) if mean and sent else (sent, sent)
    change, step = ([*map(sub, end, sent)] for end in ends)
    return change, step
