# SPDX-License-Identifier: Apache-2.0
"""Losses and metrics, as sites report them with their results and ranks record them."""

import json
import math
from collections.abc import Collection, Iterator
from typing import Any

from rekindle.flare.configuration import read_components
from rekindle.flare.workspace import SERVER
from rekindle.judge.check import (
    Options,
    Result,
    fails,
    hold_if,
    holds,
    register_check,
    register_claim,
    unknown,
)
from rekindle.judge.figures import is_error, is_loss, is_score, list_series
from rekindle.judge.run import Run
from rekindle.records.events import FinalEvent, RoundEvent

from .aggregation import group_by_site

_RANGES = {"accuracy": (0.0, 1.0), "loss": (0.0, 1e4), "eval_loss": (0.0, 1e4)}
"""Mean cross-entropies are above 20 only for a model that is very sure of wrong answers."""
_FINAL = "Final metrics: "
"""What job.py prints before them; older ones print none."""
_METRIC = r"validation metric (-?\d{1,9}(?:\.\d{1,30})?(?:e-?\d\d)?) from client (\S{1,200})$"
"""The server's message as it selects a model by a site's metric."""
_UNDONE = "as where what sites learn is undone, by differences of the wrong sign or scale or a high rate"
_DEFAULTS = {"accuracy", "val_accuracy", "metrics", "AUC"}
"""Metrics by which recipes of NVFlare select the best model unless a job names another."""
_STAYS, _ENDS = 6, {0.0, 1.0, 100.0}
"""How often in all a score is the one before, where sites have their own; and what it cannot go beyond."""
_GROWTH = 2.0
"""A model that grows so by each training, to the last round, diverges, where nothing else is reported."""
_WORSE, _BLOWN, _BURST = 1.25, 2, 1000
"""What a loss that rises is of the first one, at least; one that never comes back near it; one that does."""


def _selects_by(run: Run) -> dict[str, bool]:
    """Return the metrics by which the server selects its best model, but for NVFlare's defaults.

    And whether it takes the highest.
    """
    selectors = (item for item in read_components(run.workspace) if item["path"].endswith("ModelSelector"))
    given = [item.get("args", {}) for item in selectors]
    highest = {str(args.get("key_metric", "")): not args.get("negate_key_metric") for args in given}
    return {name: of for name, of in highest.items() if name and name not in _DEFAULTS}


def _no_metrics(run: Run) -> str | None:
    reported = any(line.event.metrics for line in run.training.results)
    return None if reported or run.find(RoundEvent) or _selects_by(run) else "No site reported a metric."


@register_check(
    "federated",
    holds="Each site's loss, or else a metric, is finite; what selects the best model was sent.",
    unless=_no_metrics,
)
def reported_metrics_are_finite(run: Run) -> Iterator[Result]:
    """Of what ranks record, each loss and metric is finite and in its range, and the server got the same."""
    yield from _out_of_range(run)
    yield from _contradicted(run)
    values: dict[tuple[str, str], list[float | None]] = {}
    for line in run.training.results:
        for name, value in line.event.metrics.items():
            values.setdefault((line.event.site, name), []).append(value)
    finite = {site for (site, name), reported in values.items() if set(reported) != {None}}
    for (site, name), reported in sorted(values.items()):
        if set(reported) == {None} and (site not in finite or "loss" in name):  # a class may be missing there
            yield unknown(f"{site} reported a {name} that is not finite, with each of its results.")
    for name, highest in sorted(_selects_by(run).items()):
        figures = [value for (_, metric), of in values.items() if metric == name for value in of]
        if not figures:
            yield unknown(f"The job selects its best model by {name}, a metric that no site reported.")
        elif highest and is_error(name) and all((value or 0) > 0 for value in figures):
            yield unknown(
                f"The job selects as its best model the one of the highest {name}, which is its worst: "
                f"report -{name}, or have the selector negate_key_metric."
            )


def _out_of_range(run: Run) -> Iterator[Result]:
    rounds = [(line.event.who, line, line.event.metrics) for line in run.find(RoundEvent)]
    for line in run.find(RoundEvent):
        rounds += [(line.event.who, line, {"loss": loss}) for loss in line.event.losses]
    final = [("job.py", run.final, run.final.event.metrics)] if run.final else []
    for who, at, metrics in [*rounds, *final]:
        for name, value in metrics.items():
            low, high = _RANGES.get(name, (-math.inf, math.inf))
            if value is None:
                message = f"{who} reported a {name} that is not finite."
                yield (fails if name == "loss" else unknown)(message, at)
            elif not low <= value <= high:
                yield unknown(f"{who} reported {name} {value:g}, not between {low:g} and {high:g}.", at)


def _contradicted(run: Run) -> Iterator[Result]:
    """Yield each metric that job.py printed, or the server logged, and that the evidence does not have."""
    for line in run.logs.printed:
        if line.startswith(_FINAL) and run.final and _parsed(line) != run.final.event.metrics:
            yield unknown(f"job.py recorded other metrics than it printed: {line[:200]}.", run.final)
    if not run.find(RoundEvent):
        return
    reported = {
        site.name: {
            abs(value or 0)
            for line in run.ranks.rounds(site.name, 0)
            for value in line.event.metrics.values()
        }
        for site in run.spec.sites
    }
    for metric in run.logs.find(SERVER, _METRIC):
        value, site = abs(float(metric.match[1])), metric.match[2]
        if site not in run.sites.lost and value not in reported.get(site, ()):
            message = f"The server had a metric of {value:g} from {site}, which {site} did not report."
            yield unknown(message, metric)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line.removeprefix(_FINAL))
    except (ValueError, RecursionError):
        return None


def _no_course(run: Run) -> str | None:
    shown = (
        any(list_series(run, kind) for kind in (is_loss, is_error, is_score)) or len(_list_growth(run)) > 1
    )
    return None if shown or run.find(RoundEvent) else "No site reported a loss or a score, or trained twice."


def _list_growth(run: Run) -> list[float]:
    """Return by what factor each training made a model larger."""
    return [line.event.relative for line in run.training.results if line.event.relative is not None]


@register_check(
    "federated",
    holds="What sites report is not always the same, and does not get worse in every round or ends far off.",
    unless=_no_course,
)
def loss_falls(run: Run) -> Iterator[Result]:
    """Where no loss falls, not every change of the model grows in every round. Where none is reported, not
    every error rises, nor does every score fall, nor a model grow in every round of which each training made
    it much larger. A loss that ranks record is finite in every epoch, and lower at the end than at the start.
    """
    yield from _of_ranks(run)
    losses = list_series(run, is_loss)
    for site in sorted({site for site, _ in losses}):
        theirs = [values for (of, _), values in losses.items() if of == site]
        if all(len(values) > 2 and values[0] and len({*values}) == 1 for values in theirs):
            yield unknown(f"{site} reported a loss of {theirs[0][0]:g} in every round, to the last digit.")
    steps = [[line.event.trained or 0.0 for line in lines] for lines in group_by_site(run).values()]
    falling = losses or list_series(run, is_error)
    if _diverge(falling.values()):
        (site, name), values = min(falling.items())
        grew = f"The {name} of every site is far above its first in later rounds"
        yield unknown(f"{grew}, at {site} {values[0]:.4g} and then up to {max(values):.4g}, {_UNDONE}.")
    elif _rise(falling.values()):
        (site, name), values = min(falling.items())
        grew = f"The {name} of every site rises in every round"
        yield unknown(f"{grew}, at {site} from {values[0]:.4g} to {values[-1]:.4g}, {_UNDONE}.")
    elif _rise(steps) and losses and all(values[-1] >= values[0] for values in losses.values()):
        grew = "What every site changes grows in every round, and no loss that it reports falls"
        yield unknown(f"{grew}, {_UNDONE}.")
    if not losses:
        yield from _without_losses(run, steps)


def _without_losses(run: Run, steps: list[list[float]]) -> Iterator[Result]:
    """Yield what scores and the size of models show of a training without a loss."""
    scores = list_series(run, is_score)
    stays = all(len(values) > 2 and len({*values}) == 1 for values in scores.values())
    first = {values[0] for values in scores.values()}
    times = sum(len(values) - 1 for values in scores.values())
    if stays and (times >= _STAYS or len(first) == 1) and not (run.training.converged or first & _ENDS):
        (site, name), values = min(scores.items())
        yield unknown(
            f"Every site reported the same {name} in every round ({values[0]:g} at {site}), to the last "
            "digit, of models that differ: it may not be measured, or nothing is learnt that it depends on."
        )
    if _rise([values[::-1] for values in scores.values()]):
        (site, name), series = min(scores.items())
        fell = f"The {name} of every site falls in every round"
        yield unknown(f"{fell}, at {site} from {series[0]:.4g} to {series[-1]:.4g}, {_UNDONE}.")
    growth = _list_growth(run)
    sent = [[math.hypot(*line.event.sent) for line in lines] for lines in group_by_site(run).values()]
    if _rise(steps) and _rise(sent) and growth and min(growth) > _GROWTH:
        grew = (
            f"Each training made the model {min(growth):.2g} times as large or more, and no loss was reported"
        )
        yield unknown(f"{grew}, {_UNDONE}.")


def _diverge(series: Collection[list[float]]) -> bool:
    """Whether each is never again near where it began, in two rounds or more, or was beyond measure once."""
    away = all(len(one) > 2 and 0 < _BLOWN * one[0] < min(one[1:]) for one in series)
    return bool(series) and (away or all(max(one) > _BURST * max(one[0], 1.0) for one in series))


def _rise(series: Collection[list[float]]) -> bool:
    """Whether all rise in every round, and by more than noise does in one of 36 runs."""
    chance = math.prod(math.factorial(len(values)) for values in series)
    rising = all(values[0] > 0 and values == sorted({*values}) for values in series)
    return chance >= 36 and rising and all(values[-1] > _WORSE * values[0] for values in series)


def _of_ranks(run: Run) -> Iterator[Result]:
    falls = []
    for name, rank in run.ranks.all if run.find(RoundEvent) else ():
        lines = run.ranks.rounds(name, rank)
        reported = [loss for line in lines for loss in line.event.losses]
        losses = [loss for loss in reported if loss is not None]
        if len(losses) > 1 and len({*reported}) == 1:
            yield fails(f"The loss of {name} rank {rank} is {losses[0]} in all of {len(losses)} epochs.")
        if rank:
            continue
        if len(losses) < len(reported):
            yield fails(f"{name} reported a loss that is not finite.", lines[-1])
        elif len(losses) < len(lines) or not losses:
            yield unknown(f"{name} reported {len(losses)} losses in {len(lines)} rounds.")
        elif len(losses) > 1:
            falls.append(f"{name} {losses[0]:.4f} → {losses[-1]:.4f}")
            if losses[-1] >= losses[0]:
                yield fails(f"The loss did not fall: {falls[-1]}.", lines[-1])
    if falls:
        yield holds(f"The loss fell: {', '.join(falls)}.", run.find(RoundEvent)[-1])


@register_claim(
    holds="The final global model's metric reaches what the job asks for, on held-out data.",
    needs=(FinalEvent,),
    takes={"metric": str, "at_least": float},
)
def metric_reached(run: Run, options: Options) -> Result:
    """Options: ``metric`` and ``at_least``."""
    name, bar = str(options["metric"]), float(options["at_least"])
    value = run.final.event.metrics.get(name) if run.final else None
    if value is None:
        return unknown(f"No final {name} was reported.", run.final)
    return hold_if(value >= bar, f"Final {name} {value:.4f}; at least {bar:g} is required.", run.final)


@register_claim(
    holds="The final global model's metric fell to the share that the job asks for, on held-out data.",
    needs=(FinalEvent, RoundEvent),
    takes={"metric": str, "to_share": float},
)
def metric_fell(run: Run, options: Options) -> Result:
    """Options: ``metric`` and ``to_share`` of its mean over the sites as they began."""
    name, share = str(options["metric"]), float(options["to_share"])
    value = run.final.event.metrics.get(name) if run.final else None
    lines = [line for site in run.spec.sites for line in run.ranks.rounds(site.name, 0)[:1]]
    firsts = [first for line in lines if (first := line.event.metrics.get(name)) is not None]
    if value is None or len(firsts) != len(run.spec.sites) or not sum(firsts):
        return unknown(f"Not every {name}, first and final, was reported.", run.final)
    first = sum(firsts) / len(firsts)
    fell = f"{name} went from {first:.4f} to {value:.4f}, to {value / first:.2f} of it"
    message = f"{fell}; at most {share:g} is required."
    return hold_if(value <= share * first, message, run.final)
