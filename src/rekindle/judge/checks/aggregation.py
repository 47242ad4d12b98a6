# SPDX-License-Identifier: Apache-2.0
"""How NVFlare's server aggregated the sites' results: every site counts, and the model is their mean."""

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rekindle.flare.configuration import Workflow, read_components, read_configuration
from rekindle.flare.workspace import SERVER
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.figures import does_improve
from rekindle.judge.means import (
    Round,
    find_flaws,
    find_residue,
    find_step_rates,
    find_swing,
    find_weight,
    is_mean,
)
from rekindle.judge.run import Run
from rekindle.judge.sketches import MEAN, QUANTISED, average_sketches, is_same, sketch_made
from rekindle.records.events import GlobalEvent, MadeEvent, Sketch, TaskEvent
from rekindle.records.evidence import EvidenceLine

_RESIDUE = 0.01
"""Of what a site's filter added, in the mean of all sites' results."""
_AVERAGES = ("FedAvg", "ScatterAndGather", "SwarmServerController")
"""Workflows whose global model is the mean of the sites' results; others have an optimizer of their own."""
_MEAN_AGGREGATOR = "AccumulateWeightedAggregator"
"""Ends the classes of NVFlare's aggregators that do; its k-means, SVM and bagging have others."""
_TAKES_THE_MEAN = (".FullModelShareableGenerator", ".SimpleModelShareableGenerator")


def group_by_round(run: Run) -> list[tuple[int, list[EvidenceLine[TaskEvent]]]]:
    """Return the results of training by their rounds."""
    by_round = groupby(run.training.models, lambda line: line.event.round or 0)
    return [(number, [*lines]) for number, lines in by_round]


def group_by_site(run: Run) -> dict[str, list[EvidenceLine[TaskEvent]]]:
    """Return the results with weights of each site, in the order of their rounds."""
    found: dict[str, list[EvidenceLine[TaskEvent]]] = {}
    for line in run.training.models:
        found.setdefault(line.event.site, []).append(line)
    return dict(sorted(found.items()))


def follow_rounds(run: Run) -> list[Round]:
    """Return the rounds after which every site was sent one model, with that model."""
    rounds = [[line.event for line in lines] for _, lines in group_by_round(run)]
    sent = ({event.sent for event in events} for events in rounds[1:])
    found = [(events, min(of)) for events, of in zip(rounds, sent, strict=False) if len(of) == 1]
    return [(events, model) for events, model in found if model]


_UNKNOWN = Workflow("controller", "", {}, None)


def _averaging(run: Run) -> Workflow:
    return next((flow for flow in run.account.flows if flow.kind in _AVERAGES), _UNKNOWN)


def skip_without_weights(run: Run) -> str | None:
    """Return why checks of weights do not apply to a run; None if they do."""
    return None if run.training.models else "No site sent weights."


@register_check(
    "federated", holds="Every result counts more than 0 in the mean.", unless=skip_without_weights
)
def every_site_counts(run: Run) -> Iterator[Result]:
    weights: dict[str, list[float]] = {}
    shares = _shares(run, _averaging(run))
    for line in run.training.models:
        event = line.event
        weight = find_weight(event) * float(shares.get(event.site, 1))
        weights.setdefault(event.site, []).append(weight)
        if not 0 < weight < math.inf:
            yield fails(f"{event.site}'s result of round {event.round} counts {weight:g} in the mean.", line)
    grow = [site for site, reported in weights.items() if len(reported) > 1 and _grows(reported)]
    if grow and len(grow) == len(weights):
        message = (
            f"Every site reported the steps of all its rounds so far as those of one ({weights[grow[0]]}), "
            "as NVFlare's Lightning client before 2.9 does: a site that misses a round would count less."
        )
        yield holds(message)


def _grows(weights: list[float]) -> bool:
    return all(weight == weights[0] * number for number, weight in enumerate(weights, 1)) and weights[0] > 1


def _no_mean(run: Run) -> str | None:
    flows = [flow for flow in run.account.flows if flow.flow is None or flow.flow.trains]
    if [flow.kind in _AVERAGES for flow in flows] != [True]:
        kinds = ", ".join(flow.kind for flow in flows) or "no workflow that trains"
        return f"The mean is known of FedAvg, ScatterAndGather and swarm learning; the job has {kinds}."
    if read_configuration(run.workspace, SERVER).get("task_result_filters"):
        return "The server filters results before it aggregates them."
    if excluded := _given(run, flows[0], "exclude_vars"):
        return f"The job leaves variables out of its mean: {excluded}."
    return skip_without_weights(run)


@register_check(
    "federated",
    holds="The model that sites get is not the same in every round; every site's result has a part in it.",
    unless=skip_without_weights,
)
def global_model_changes(run: Run) -> Iterator[Result]:
    rounds = group_by_round(run)
    sent = [{line.event.sent for line in lines} for _, lines in rounds]
    if sum(map(any, sent)) > 1 and len(set().union(*sent)) == 1:
        why = _why_it_stays([line.event for line in rounds[-2][1]], rounds[-1][1][0].event.sent)
        yield fails(f"Sites got the same model in every round: {why}.", run.training.models[-1])
    for site, lines in group_by_site(run).items():
        models = [line.event.sent for line in lines]
        if len(models) > 1 and any(models[0]) and len(set(models)) == 1:
            yield unknown(f"{site} got the same model in every round: others' results did not reach it.")
    if not _no_mean(run):
        return
    results: dict[str, Sketch] = {}
    alone = []
    for line in run.training.models:
        if line.event.site in results:
            alone.append(results[line.event.site] == line.event.sent)
        results[line.event.site] = line.event.sketch
    if len(results) > 1 and alone and all(alone):
        yield unknown("Every site got back what it had sent itself: nothing of another's reached it.")
    for flaw in find_flaws(follow_rounds(run), does_improve(run)):
        yield unknown(f"The model that sites got was in every round {flaw}.")


@register_check(
    "federated",
    holds="The global model after a round is the mean of what the sites sent in it, by their weights.",
    unless=_no_mean,
)
def global_model_is_the_mean(run: Run) -> Iterator[Result]:
    """With a custom aggregator or a server's optimizer, it is neither the model before nor one result."""
    flow = _averaging(run)
    own = _own_aggregator(run, flow) or _optimizer(run, flow)
    apart = bool(own) and not any(line.event.sent for line in run.training.models)  # as sums of an EM step
    models: dict[int, list[EvidenceLine[GlobalEvent]]] = {}
    followed: list[Round] = []
    for line in run.find(GlobalEvent):
        models.setdefault(line.event.round, []).append(line)
    for later, (number, lines) in enumerate(group_by_round(run)):
        following, events = models.get(number + 1, []), [line.event for line in lines]
        names = {event.names for event in events} | ({line.event.names for line in following} - {None})
        if len(names) > 1 or (later and not all(event.sent for event in events)):
            message = f"In round {number} the names of weights differ between sites, or from what they got."
            if not own:
                yield unknown(message, lines[0])
        elif not following and not apart:
            yield unknown(f"Our component at the server recorded no global model after round {number}.")
        else:
            for model in following:
                followed.append((events, model.event.sketch))
                yield from _aggregated(run, events, model, own, flow)
    if not own:
        yield from _sent_changes(run, followed)
        yield from _masked(run)
    for flaw in find_flaws(followed, does_improve(run)) if own else ():
        yield unknown(f"{own} made every global model {flaw}.")
    rates = find_step_rates(followed)
    said = [f"The job makes its global model by {own}, so it need not be a mean."] if own else []
    if apart:
        said.append("What sites send has none of its names: it is compared with no model.")
    if rates:
        said.append(f"The global model's step is {rates[-1]:.2g} times the mean change of the sites.")
    if said:
        yield holds(" ".join(said))


def _masked(run: Run) -> Iterator[Result]:
    """Yield each round whose mean keeps what sites' filters added for one another to cancel."""
    made = {(line.event.site, line.event.round): line.event for line in run.find(MadeEvent)}
    for number, lines in group_by_round(run):
        before = [made.get((line.event.site, number)) for line in lines]
        pairs = [(line.event, one) for line, one in zip(lines, before, strict=True) if one]
        if len(pairs) == len(lines) > 1 and all(event.names == one.names for event, one in pairs):
            rest = find_residue([event for event, _ in pairs], {one.site: one.sketch for _, one in pairs})
            if rest > _RESIDUE:
                message = (
                    "What the sites' filters add to results cancels in their sum, as masks do, and not in "
                    f"the mean by their weights: {rest:.0%} of a site's is left in the global model of "
                    f"round {number}. Send equal weights, or mask what is weighted already."
                )
                yield fails(message, lines[-1])
                return


def _sent_changes(run: Run, followed: list[Round]) -> Iterator[Result]:
    """Yield where sites seem to send what training changed, and the server takes that for the whole model."""
    for note in run.misuses:
        if note.event.by == "changes":
            message = (
                f"{note.event.site} sends at {note.event.place} what training changed, and the server takes "
                "that for the whole model: send it with params_type=ParamsType.DIFF."
            )
            yield unknown(message, note)
    if find_swing(followed):
        message = (
            "The global model goes to and fro: each round takes back much of what the one before changed, as "
            "where sites send what training changed without params_type=ParamsType.DIFF, or learn too fast."
        )
        yield unknown(message, run.training.models[-1])


def _aggregated(
    run: Run, events: list[TaskEvent], following: EvidenceLine[GlobalEvent], own: str, flow: Workflow
) -> Iterator[Result]:
    model, number = following.event.sketch, following.event.round - 1
    results = [sketch_made(event) for event in events]
    one = next((event for event in events if is_same(sketch_made(event), model)), None)
    if one and not all(is_same(sketch_made(one), result) for result in results):
        alone = f"The global model after round {number} is {one.site}'s result alone"
        if own and not own.startswith("nvflare."):
            yield unknown(f"{alone}: {own} may choose one, as Krum does, or lose the others.", following)
        else:
            yield fails(f"{alone}.", following)
    stays = events[0].sent and is_same(events[0].sent, model)
    if stays and events[0].round not in run.training.converged:
        why = _why_it_stays(events, model)
        yield fails(f"The global model after round {number} is the one before it: {why}.", following)
    shares = _shares(run, flow)
    weights = [find_weight(event) * float(shares.get(event.site, 1)) for event in events]
    mean = average_sketches(weights, results)
    coarse = any(event.bytes < 4 * event.values for event in events)
    if not own and mean is not None and not is_same(mean, model, QUANTISED if coarse else MEAN):
        message = f"The global model after round {number} is not the mean of what the sites sent in it."
        yield fails(message, following)


def _why_it_stays(events: list[TaskEvent], model: Sketch) -> str:
    """Return why the results of a round left the model as it was."""
    if is_mean(model, events):
        return "the sites' results are on average that model, as where each training begins anew"
    return "no result counted"


def _aggregators(run: Run, flow: Workflow) -> list[dict[str, Any]]:
    given = flow.arguments.get("aggregator")
    named = given if isinstance(given, str) else flow.arguments.get("aggregator_id", "aggregator")
    return [*([given] if isinstance(given, dict) else []), *_named(run, named)]


def _own_aggregator(run: Run, flow: Workflow) -> str:
    paths = (str(item.get("path", "")) for item in _aggregators(run, flow))
    return next((path for path in paths if path and not path.endswith(_MEAN_AGGREGATOR)), "")


def _given(run: Run, flow: Workflow, name: str) -> Any:
    """Return an argument of the workflow, or else of its aggregator; None if neither has it."""
    of = [flow.arguments, *(item.get("args") or {} for item in _aggregators(run, flow))]
    return next((arguments[name] for arguments in of if arguments.get(name)), None)


def _shares(run: Run, flow: Workflow) -> dict[str, float]:
    """Return by what the job multiplies each site's weight."""
    shares = _given(run, flow, "aggregation_weights")
    return shares if isinstance(shares, dict) else {}


def _optimizer(run: Run, flow: Workflow) -> str:
    """Return the component that makes the global model from the mean by an optimizer, as FedOpt's does."""
    found = _named(run, flow.arguments.get("shareable_generator_id", "shareable_generator"))
    return next((item["path"] for item in found if not item["path"].endswith(_TAKES_THE_MEAN)), "")


def _named(run: Run, name: object) -> list[dict[str, Any]]:
    """Return the components of this name at the server, or at the sites that aggregate."""
    owners = run.account.aggregators or [""]
    found = [item for owner in owners for item in read_components(run.workspace, owner)]
    return [item for item in found if item.get("id") == name]
