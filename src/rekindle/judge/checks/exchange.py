"""Results of sites, as our component at the server recorded them: sound, trained, and their own."""

import math
from collections import Counter
from collections.abc import Collection, Iterator

from rekindle.flare.announced import components, sites
from rekindle.flare.tasks import CAME
from rekindle.flare.workspace import SERVER
from rekindle.host import folders
from rekindle.judge.check import Result, check, fails, holds, unknown
from rekindle.judge.run import Run
from rekindle.judge.trained import TRAINS
from rekindle.records.events import ContributionEvent, FinalEvent, GlobalEvent, RoundEvent, Sketch, TaskEvent

from .aggregation import EXACT, QUANTISED, by_site, same

_AGGREGATED = r"Contribution from (\S{1,200}) ACCEPTED by the aggregator at round"
"""A site's message when it aggregates a result of swarm learning."""

_DEFAULTS = {"accuracy", "val_accuracy", "metrics", "AUC"}
"""Metrics by which recipes of NVFlare select the best model unless a job names another."""
_LOSS = "loss"
"""Ends the name of a metric that is better if it is lower."""
_WORSE = 1.25
"""What a loss that rises is of the first one, at least."""


@check("ours", "example")
def server_recorded_every_result(run: Run) -> Iterator[Result]:
    """Our component at the server recorded every result that the server's log has, and no other.

    In swarm learning those at the sites do so for what each of them aggregated.
    """
    logged = Counter((SERVER, line.match[1], line.match[2]) for line in run.find(SERVER, CAME.pattern))
    for name in run.account.aggregators:
        logged.update((name, line.match[1], TRAINS) for line in run.find(name, _AGGREGATED))
    results = Counter(
        (folders.recorder(line.file)[0] or SERVER, line.event.site, line.event.task) for line in run.results
    )
    if not results:
        yield unknown("Our component at the server recorded no result.")
    rounds = Counter((line.event.site, line.event.task, line.event.round) for line in run.results)
    for (site, task, number), count in sorted(rounds.items(), key=str):
        if number is not None and count > 1:
            yield unknown(f"{site} gave the server a result of {task} twice in round {number}.")
    for key in sorted(logged.keys() | results.keys()):
        owner, site, task = key
        if logged[key] != results[key]:
            counts = f"{logged[key]} results of {site} for {task}"
            yield unknown(f"The log of {owner} has {counts}, and our component recorded {results[key]}.")


@check("ours", "example", needs=(TaskEvent,))
def results_are_sound(run: Run) -> Iterator[Result]:
    """Every result has the return code OK, its numbers are finite, and those of our trainers moved."""
    for line in run.results:
        event = line.event
        whose = f"{event.site}'s result of {event.task}"
        whose += "" if event.round is None else f" in round {event.round}"
        if event.return_code != "OK":
            yield fails(f"{whose} has the return code {event.return_code}.", line)
        elif event.finite is False:
            yield fails(f"{whose} is not finite.", line)
        elif event.kind == "METRICS" and not event.values:
            yield fails(f"{whose} has no metric that is a number.", line)
        elif run.kind == "ours" and (event.moved or 0.0) <= 0:
            yield fails(f"{whose} is the global model that it was sent.", line)


@check("claim", needs=(TaskEvent,))
def every_site_trained(run: Run) -> Iterator[Result]:
    """Every site's result of every training task is a model other than the one that it was sent.

    Where no result can be compared, as a gradient cannot with a model, each is a number other than 0; so is
    one of a first round that sent settings and no model, as scikit-learn's.
    """
    results = run.trained
    for line in results:
        if message := _wrong(line.event):
            yield fails(message, line)
    for site in sorted({line.event.site for line in results}):
        theirs = [line for line in results if line.event.site == site]
        idle = [line for line in theirs if line.event.trained == 0]
        if idle:
            where = "any round" if len(idle) == len(theirs) else f"{len(idle)} of {len(theirs)} rounds"
            message = (
                f"{site} did not train: no trainable parameter changed by more than rounding in {where}, "
                "or all were merely scaled, as by weight decay without gradients."
            )
            yield (fails if len(idle) == len(theirs) else unknown)(message, idle[0])
    if blank := next((line for line in results if line.event.blank), None):
        message = f"{blank.event.blank} of {blank.event.values} parameters, entire arrays, are 0"
        yield unknown(f"{message} in what {blank.event.site} sent, and were not in what it was sent.", blank)
    if raw := next((line for line in results if not line.event.values), None):
        what = f"{raw.event.bytes} bytes that are no numbers, as trees and ciphertexts are"
        yield unknown(f"{raw.event.site} sent {what}: nothing shows that it trained.", raw)
    uncompared = [line for line in results if line.event.moved is None and line.event.kind != "WEIGHT_DIFF"]
    began = min((line.event.round or 0 for line in results), default=0)  # with settings, and no model yet
    later = [line for line in uncompared if (line.event.round or 0) > began]
    if later and len(uncompared) < len(results):
        event = later[0].event
        yield unknown(f"{event.site}'s result was compared with nothing, unlike others.", uncompared[0])
    trains = {site.name for site in run.spec.sites}
    for flow in run.account.flows:
        trains.intersection_update(flow.trainers(sorted(trains)))
        if flow.sampled(len(run.account.sites)) < len(run.account.sites):
            trains.intersection_update(task.site for task in run.account.tasks)
    silent = sorted(trains - {line.event.site for line in results})
    if silent:
        announced = ", ".join(sites(run.workspace)) or "none"
        yield unknown(f"The server had no training result of {silent[0]}; the job announced {announced}.")
    if results:
        who = "Every site" if len(trains) == len(run.spec.sites) else "Every site that trains"
        summary = f"{who} sent back another model than it was sent, in {len(results)} results."
        summary += " None did in the first round." if all(line.event.round for line in results) else ""
        yield holds(summary, results[-1])


def _wrong(event: TaskEvent) -> str | None:
    where = event.site if event.round is None else f"{event.site} in round {event.round}"
    if not event.values:
        return None if event.bytes else f"{where} sent nothing back."
    if event.finite is False:
        return f"{where} sent what is not finite."
    if (event.kind == "WEIGHT_DIFF" and event.norm == 0) or event.moved == 0:
        return f"{where} sent back the model that it was sent: it did not train."
    if event.controls == 0:
        return f"{where} sent SCAFFOLD controls that are all zeros."
    return f"{where} sent zeros." if event.norm == 0 else None


def _selects_by(run: Run) -> dict[str, bool]:
    """Return the metrics by which the server selects its best model, but for NVFlare's defaults.

    And whether it takes the highest.
    """
    selectors = (item for item in components(run.workspace) if item["path"].endswith("ModelSelector"))
    given = [item.get("args", {}) for item in selectors]
    highest = {str(args.get("key_metric", "")): not args.get("negate_key_metric") for args in given}
    return {name: of for name, of in highest.items() if name and name not in _DEFAULTS}


def _no_metrics(run: Run) -> str | None:
    reported = any(line.event.metrics for line in run.trained)
    return None if reported or _selects_by(run) else "No site reported a metric."


@check("example", unless=_no_metrics)
def reported_metrics_are_finite(run: Run) -> Iterator[Result]:
    """Each site's loss, or else a metric, is finite in some round; what selects the best model was sent."""
    values: dict[tuple[str, str], list[float | None]] = {}
    for line in run.trained:
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
        elif highest and name.lower().endswith(_LOSS) and all((value or 0) > 0 for value in figures):
            message = f"The job selects as its best model the one of the highest {name}, which is its worst"
            yield unknown(f"{message}: report -{name}, or have the selector negate_key_metric.")


def _no_losses(run: Run) -> str | None:
    return None if _losses(run) else "No site reported a loss."


def _losses(run: Run) -> dict[tuple[str, str], list[float]]:
    """Return each loss that a site reported, by site and name, in the order of rounds."""
    losses: dict[tuple[str, str], list[float]] = {}
    for line in sorted(run.trained, key=lambda line: (line.event.round or 0, line.event.time)):
        for name, value in line.event.metrics.items():
            if name.lower().endswith(_LOSS) and value is not None:
                losses.setdefault((line.event.site, name), []).append(value)
    return losses


@check("example", unless=_no_losses)
def sites_get_no_worse(run: Run) -> Iterator[Result]:
    """No site's loss is the same in all rounds, and not every loss rises in every round.

    Where no loss falls, not every change of the model grows in every round.
    """
    losses = _losses(run)
    for site in sorted({site for site, _ in losses}):
        theirs = [values for (of, _), values in losses.items() if of == site]
        if all(len(values) > 2 and values[0] and len({*values}) == 1 for values in theirs):
            yield unknown(f"{site} reported a loss of {theirs[0][0]:g} in every round, to the last digit.")
    steps = [[line.event.trained or 0.0 for line in lines] for lines in by_site(run).values()]
    undone = "as where what sites learn is undone, by differences of the wrong sign, or the rate is too high"
    if _rise(losses.values()):
        (site, name), values = min(losses.items())
        grew = f"The {name} of every site rises in every round"
        yield unknown(f"{grew}, at {site} from {values[0]:.4g} to {values[-1]:.4g}, {undone}.")
    elif _rise(steps) and all(values[-1] >= values[0] for values in losses.values()):
        grew = "What every site changes grows in every round, and no loss that it reports falls"
        yield unknown(f"{grew}, {undone}.")


def _rise(series: Collection[list[float]]) -> bool:
    """Whether all rise in every round, and by more than noise does in one of 36 runs."""
    chance = math.prod(math.factorial(len(values)) for values in series)
    rising = all(values[0] > 0 and values == sorted({*values}) for values in series)
    return chance >= 36 and rising and all(values[-1] > _WORSE * values[0] for values in series)


@check("ours", needs=(RoundEvent, GlobalEvent))
def trainers_start_from_the_servers_model(run: Run) -> Iterator[Result]:
    """The model from which every rank starts a round is the one that the server had, by digest and sketch."""
    models = {line.event.round: line.event for line in run.of(GlobalEvent)}
    for line in run.of(RoundEvent):
        event, model = line.event, models.get(line.event.round)
        if model and not _is(run, event.model_in, event.sketch_in, model.digest, model.sketch):
            message = f"{event.who} started round {event.round} from another model than the server's."
            yield fails(message, line)


@check("ours", needs=(RoundEvent, ContributionEvent))
def server_gets_what_trainers_made(run: Run) -> Iterator[Result]:
    """What the server got from a site is what every rank of it ended the round with, by digest and sketch."""
    results = {(line.event.site, line.event.round): line.event for line in run.of(ContributionEvent)}
    for line in run.of(RoundEvent):
        event, result = line.event, results.get((line.event.site, line.event.round))
        if result and not _is(run, event.model_out, event.sketch_out, result.digest, result.sketch):
            yield fails(f"The server got another model in round {event.round} than {event.who} made.", line)


@check("ours", needs=(FinalEvent, GlobalEvent))
def final_model_is_the_servers(run: Run) -> Iterator[Result]:
    """The final model is the server's last, and the first its first."""
    models = {line.event.round: line.event for line in run.of(GlobalEvent)}
    first, last = models.get(0), models.get(run.spec.job.rounds)
    assert run.final is not None
    final = run.final.event
    if not first or not last:
        yield unknown("Our component at the server did not record its first and last global model.")
    if last and final.final != last.digest:
        yield fails("The final model is not what the server aggregated last.", run.final)
    if first and final.initial != first.digest:
        yield fails("The initial model is not the one from which the server began.", run.final)


def _is(run: Run, made: str, sketch: Sketch | None, digest: str | None, seen: Sketch) -> bool:
    return same(sketch, seen, QUANTISED if run.lossy else EXACT) and (run.lossy or made == digest)
