"""What sites sent NVFlare's server and what it made of that, of jobs whose trainers write no evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from rekindle.flare.announced import Workflow, components, configuration, workflows
from rekindle.flare.workspace import SERVER
from rekindle.judge.run import Run
from rekindle.records.events import GlobalEvent, Sketch, TaskEvent
from rekindle.records.evidence import Line

from .registry import Doubt, rule
from .server import same_sketch, weighted_mean

_TRAINS = "train"
_AVERAGES = ("FedAvg", "ScatterAndGather")
"""Workflows whose global model is the mean of the sites' results; others have an optimizer of their own."""
_MEAN = 1e-5
"""Relative to the largest figure of a sketch: sums of float32, in whatever order."""
_CHANCE = 4.0
"""Standard deviations of the correlation of two models that have nothing to do with each other."""


def _results(run: Run) -> list[Line[TaskEvent]]:
    """Return the results of training that have weights, in the order of their rounds."""
    lines = [line for line in run.of(TaskEvent) if line.event.task == _TRAINS and line.event.sketch]
    return sorted(lines, key=lambda line: (line.event.round or 0, line.event.time))


def _by_round(run: Run) -> list[tuple[int, list[Line[TaskEvent]]]]:
    return [
        (number, [*lines]) for number, lines in groupby(_results(run), lambda line: line.event.round or 0)
    ]


def _no_weights(run: Run) -> str | None:
    return None if _results(run) else "No site sent weights."


def _one_site(run: Run) -> str | None:
    return _no_weights(run) or (None if len(run.spec.sites) > 1 else "The job has one site.")


@rule(3, exempt=_no_weights)
def every_site_counts(run: Run) -> Iterator[Doubt]:
    """Every result counts more than 0 in the mean."""
    weights: dict[str, list[float]] = {}
    for line in _results(run):
        event = line.event
        weight = _weight(event)
        weights.setdefault(event.site, []).append(weight)
        if not 0 < weight < math.inf:
            says = f"{event.site}'s result of round {event.round} counts {weight:g} in the mean."
            yield Doubt(says, line, holds=False)
    grow = [site for site, told in weights.items() if len(told) > 1 and _grows(told)]
    if grow and len(grow) == len(weights):
        says = (
            f"Every site reported the steps of all its rounds so far as those of one ({weights[grow[0]]}), "
            "as NVFlare's Lightning client before 2.9 does: a site that misses a round would count less."
        )
        yield Doubt(says, holds=True)


def _weight(event: TaskEvent) -> float:
    """Return what a result counts; NVFlare takes one that tells nothing for 1."""
    return 1.0 if event.weight is None else event.weight


def _grows(weights: list[float]) -> bool:
    """Whether each weight is the first one times the number of rounds so far."""
    return all(weight == weights[0] * number for number, weight in enumerate(weights, 1)) and weights[0] > 1


def _example_or_one_site(run: Run) -> str | None:
    example = run.spec.job.example
    if example and example.folder:
        return "Sites of NVFlare's own examples may have the same data and do the same."
    return _one_site(run)


@rule(3, exempt=_example_or_one_site)
def results_are_their_own(run: Run) -> Iterator[Doubt]:
    """No site sent the weights that another site sent, or itself in another round."""
    seen: dict[Sketch, TaskEvent] = {}
    for line in _results(run):
        event, earlier = line.event, seen.setdefault(line.event.sketch, line.event)
        if any(event.sketch) and (earlier.site, earlier.round) != (event.site, event.round):
            says = f"{event.site} sent in round {event.round} the weights that {earlier.site} sent in round "
            yield Doubt(f"{says}{earlier.round}, to the last digit.", line)


@rule(3, exempt=_no_weights)
def results_come_from_the_global_model(run: Run) -> Iterator[Doubt]:
    """A site's result is closer to the model that it was sent than chance would have it."""
    rounds = _by_round(run)
    first = rounds[0][1]
    for what, lines in (
        ("in the first round", first),
        ("after the first round", _results(run)[len(first) :]),
    ):
        compared = [line for line in lines if line.event.kept is not None]
        if compared and all(_by_chance(line.event.kept, line.event) for line in compared):
            says = f"What sites sent {what} has nothing to do with the model that they were sent"
            yield Doubt(f"{says} (correlation {compared[0].event.kept:.3f}).", compared[0], holds=False)
    beside = [line for line in _results(run) if line.event.alike is not None]
    if beside and all(_by_chance(line.event.alike, line.event) for line in beside):
        says = "Results of two sites have nothing in common, although both got one model"
        yield Doubt(f"{says} (correlation {beside[0].event.alike:.3f}).", beside[0], holds=False)


def _by_chance(correlation: float | None, event: TaskEvent) -> bool:
    return correlation is not None and abs(correlation) <= _CHANCE / math.sqrt(max(event.values, 1))


def _no_mean(run: Run) -> str | None:
    """Exempt a run whose server does not make the mean of what sites sent, or not of that."""
    flows = [flow for flow in workflows(run.workspace) if flow.flow is None or flow.flow.trains]
    if [flow.kind in _AVERAGES for flow in flows] != [True]:
        kinds = ", ".join(flow.kind for flow in flows) or "no workflow that trains"
        return f"The mean is known of FedAvg and ScatterAndGather; the job has {kinds}."
    if configuration(run.workspace, SERVER).get("task_result_filters"):
        return "The server filters results before it aggregates them."
    return _no_weights(run)


@rule(3, exempt=_no_mean)
def global_model_is_the_mean(run: Run) -> Iterator[Doubt]:
    """The global model after a round is the mean of what the sites sent in it, by their weights.

    Of a job with an aggregator of its own it is neither the model before nor one site's result.
    """
    (flow,) = [flow for flow in workflows(run.workspace) if flow.kind in _AVERAGES]
    own = _own_aggregator(run, flow)
    models = {line.event.round: line for line in run.of(GlobalEvent)}
    for later, (number, lines) in enumerate(_by_round(run)):
        following, events = models.get(number + 1), [line.event for line in lines]
        if len({event.names for event in events}) > 1 or (later and not all(event.sent for event in events)):
            says = (
                f"In round {number} sites sent weights under other names than each other, or than they got."
            )
            yield Doubt(says, lines[0])
        elif following is None:
            yield Doubt(f"The server's component told no global model after round {number}.")
        else:
            yield from _aggregated(number, events, following, own, flow)
    if own:
        says = f"The job has an aggregator of its own, {own}, so that the global model need not be a mean."
        yield Doubt(says, holds=True)


def _aggregated(
    number: int, events: list[TaskEvent], following: Line[GlobalEvent], own: str, flow: Workflow
) -> Iterator[Doubt]:
    model = following.event.sketch
    results = [_made(event) for event in events]
    one = next((event for event in events if same_sketch(_made(event), model)), None)
    if one and not all(same_sketch(_made(one), made) for made in results):
        says = f"The global model after round {number} is {one.site}'s result alone."
        yield Doubt(says, following, holds=False)
    if events[0].sent and same_sketch(events[0].sent, model):
        says = f"The global model after round {number} is the one before it: no result counted."
        yield Doubt(says, following, holds=False)
    given = flow.arguments.get("aggregation_weights")
    shares = given if isinstance(given, dict) else {}
    weights = [_weight(event) * float(shares.get(event.site, 1)) for event in events]
    mean = weighted_mean([*zip(weights, results, strict=True)])
    if not own and mean is not None and not same_sketch(mean, model, _MEAN):
        says = f"The global model after round {number} is not the mean of what the sites sent in it."
        yield Doubt(says, following, holds=False)


def _made(event: TaskEvent) -> Sketch:
    """Return the sketch of the model that a result makes: itself, or what was sent and the difference."""
    if event.kind != "WEIGHT_DIFF" or not event.sent:
        return event.sketch
    return tuple(map(sum, zip(event.sent, event.sketch, strict=True)))


def _own_aggregator(run: Run, flow: Workflow) -> str:
    """Return the class of an aggregator that is not NVFlare's; empty if there is none."""
    told = flow.arguments.get("aggregator")
    inline = str(told.get("path", "")) if isinstance(told, dict) else ""
    named = flow.arguments.get("aggregator_id") or (told if isinstance(told, str) else None)
    paths = [inline, *(item["path"] for item in components(run.workspace) if item.get("id") == named)]
    return next((path for path in paths if path and not path.startswith("nvflare.")), "")
