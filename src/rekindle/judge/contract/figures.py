"""That figures lie where such figures can lie, and agree where two processes tell one and the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import mean

from rekindle.judge.run import Run
from rekindle.records.events import FinalEvent, RoundEvent, TrackingEvent

from .registry import Doubt, rule

_BOUNDS = {
    "accuracy": (0.0, 1.0),
    "loss": (0.0, 1e4),
    "eval_loss": (0.0, 1e4),
    "neg_eval_loss": (-1e4, 0.0),
}
"""Where a metric can lie, by name: shares, and means of a cross-entropy, which is not negative nor above 20
but for models that are surer of a wrong answer than one in 500 million. Others have to be finite."""
_AGREE = 1e-4
"""Relative: what ranks of a site tell of one model differs by the order of sums alone."""
_LEAST_DISTANCE, _MOST_DISTANCE = 1.0, 1000.0
"""L2, from scratch: 9 to 166 in recorded runs of 30 thousand to 124 million parameters."""
_LAST_STEP = 1.5
"""How many times as far as the rounds before it the last one may take a metric: trainings slow down."""
_SITES_METRIC = r"IntimeModelSelector .* validation metric (\S+) from client "
_BEST = r"new best validation metric at round (\d{1,9}): (\S{1,40})"
_SPREAD = 3.0
"""How many times one site's first figure may be another's: they start from one and the same model."""


@rule(needs=(RoundEvent,))
def losses_of_every_epoch(run: Run) -> Iterator[Doubt]:
    """Every rank tells a loss for each epoch of each round, finite and where a loss can lie."""
    epochs = run.spec.job.arguments.get("local_epoch")
    low, high = _BOUNDS["loss"]
    for line in run.of(RoundEvent):
        event = line.event
        where = f"{event.who} in round {event.round}"
        wanted = epochs or len(run.of(RoundEvent)[0].event.losses)
        if len(event.losses) != wanted:
            yield Doubt(f"{where} tells {len(event.losses)} losses of {wanted} epochs.", line)
        for loss in event.losses:
            if loss is None:
                yield Doubt(f"{where} tells a loss that is not finite.", line, holds=False)
            elif not low <= loss <= high:
                yield Doubt(f"{where} tells a loss of {loss:g}, which no mean cross-entropy is.", line)


@rule(needs=(RoundEvent,))
def losses_are_new(run: Run) -> Iterator[Doubt]:
    """No rank reports the losses of one round in another, or one loss for all epochs of a round.

    A loss that has converged to 0 may repeat.
    """
    for site, rank in run.ranks:
        lines, who = run.rounds(site, rank), f"{site} rank {rank}"
        by_round = [line.event.losses for line in lines if any(line.event.losses)]
        if len(set(by_round)) < len(by_round):
            yield Doubt(f"{who} reported the losses of one round in another too.", lines[0])
        for line in lines:
            losses = line.event.losses
            if len(losses) > 1 and len(set(losses)) == 1 and any(losses):
                yield Doubt(f"{who} reported one loss for all epochs of a round.", line)


def _single_ranks(run: Run) -> str | None:
    return None if any(site.ranks > 1 for site in run.spec.sites) else "Every site has one rank."


@rule(needs=(RoundEvent,), exempt=_single_ranks)
def ranks_agree(run: Run) -> Iterator[Doubt]:
    """The ranks of a site tell the same losses, metrics and number of samples: means over all of them."""
    for site in run.spec.sites:
        first = {line.event.round: line.event for line in run.rounds(site.name, 0)}
        for rank in range(1, site.ranks):
            for line in run.rounds(site.name, rank):
                event, of_rank_0 = line.event, first.get(line.event.round)
                where = f"{site.name} ranks 0 and {rank} in round {event.round}"
                if of_rank_0 is None:
                    continue
                if not _same_all(event.losses, of_rank_0.losses):
                    yield Doubt(f"{where} tell different losses.", line)
                if event.metrics.keys() != of_rank_0.metrics.keys() or not _same_all(
                    tuple(event.metrics.values()), tuple(of_rank_0.metrics[name] for name in event.metrics)
                ):
                    yield Doubt(f"{where} tell different metrics of one model.", line)
                if event.samples != of_rank_0.samples:
                    says = f"{where} tell {of_rank_0.samples} and {event.samples} samples."
                    yield Doubt(says, line)
                if (event.bytes_in, event.bytes_out) != (None, None):
                    says = f"{event.who} tells sizes of messages, which rank 0 alone exchanges."
                    yield Doubt(says, line)


@rule(needs=(RoundEvent,))
def as_many_samples_each_round(run: Run) -> Iterator[Doubt]:
    """A rank goes through as many samples in each round: its data and epochs stay the same."""
    for site, rank in run.ranks:
        lines = run.rounds(site, rank)
        for line in lines:
            if line.event.samples != lines[0].event.samples:
                says = (
                    f"{line.event.who} went through {line.event.samples} samples in round "
                    f"{line.event.round} and {lines[0].event.samples} in round {lines[0].event.round}."
                )
                yield Doubt(says, line)


@rule(needs=(RoundEvent,))
def metrics_in_their_range(run: Run) -> Iterator[Doubt]:
    """Every metric is finite, in the range of its name, and told in every round by every rank."""
    rounds = run.of(RoundEvent)
    names = {name for line in rounds for name in line.event.metrics}
    of_rounds = [(line.event.who, line, line.event.metrics) for line in rounds]
    final = [("job.py", run.final, run.final.event.metrics)] if run.final else []
    for who, line, metrics in [*of_rounds, *final]:
        if who != "job.py" and metrics.keys() != names:
            yield Doubt(f"{who} does not tell {', '.join(sorted(names - metrics.keys()))}.", line)
        for name, value in metrics.items():
            low, high = _BOUNDS.get(name, (-math.inf, math.inf))
            if value is None:
                yield Doubt(f"{who} tells a {name} that is not finite.", line)
            elif not low <= value <= high:
                yield Doubt(f"{who} tells {name} {value:g}, which lies between {low:g} and {high:g}.", line)
        loss, negative = metrics.get("eval_loss"), metrics.get("neg_eval_loss")
        if loss is not None and negative is not None and not _same(loss, -negative):
            yield Doubt(f"{who} tells eval_loss {loss:g} and neg_eval_loss {negative:g}.", line)


@rule(needs=(RoundEvent,))
def first_metrics_are_of_one_model(run: Run) -> Iterator[Doubt]:
    """All sites start from one model, whose figures at one site are about those at another."""
    firsts = [line for site in run.spec.sites for line in run.rounds(site.name, 0)[:1]]
    for line in firsts:
        for name, value in line.event.metrics.items():
            at_first = firsts[0].event.metrics.get(name)
            if value and at_first and not 1 / _SPREAD <= value / at_first <= _SPREAD:
                says = (
                    f"The first model has {name} {value:g} at {line.event.site} and {at_first:g} at "
                    f"{firsts[0].event.site}."
                )
                yield Doubt(says, line)


def _server_logs_no_metric(run: Run) -> str | None:
    return None if run.find("server", _SITES_METRIC) else "The server logged no metric of a site."


@rule(needs=(RoundEvent,), exempt=_server_logs_no_metric)
def server_saw_these_metrics(run: Run) -> Iterator[Doubt]:
    """The metric that the server logged of a site and round is one that the site told of that round.

    NVFlare leaves out the first round.
    """
    for site in run.spec.sites:
        lines = run.rounds(site.name, 0)
        logged = run.find("server", rf"{_SITES_METRIC}{re.escape(site.name)}$")
        for line, log in zip(lines[1:], logged, strict=False):
            value = _number(log.match[1])
            if not any(_same(value, metric) for metric in line.event.metrics.values()):
                says = (
                    f"The server had {log.match[1]} as {site.name}'s metric of round {line.event.round}, "
                    "which is none that the site told."
                )
                yield Doubt(says, line)


@rule(needs=(RoundEvent, FinalEvent))
def final_metrics_follow(run: Run) -> Iterator[Doubt]:
    """The final model's metrics follow from the rounds before it: no leap that none of them made."""
    rounds: dict[int, list[dict[str, float | None]]] = {}
    for site in run.spec.sites:
        for line in run.rounds(site.name, 0):
            rounds.setdefault(line.event.round, []).append(line.event.metrics)
    for name, final in run.final.event.metrics.items() if run.final else ():
        means = [
            mean(values) for _, of_round in sorted(rounds.items()) if (values := _values(of_round, name))
        ]
        if final is None or len(means) < 2 or min(means) <= 0 or final <= 0:
            continue
        steps = [after / before for before, after in pairwise(means)]
        last = final / means[-1]
        if not min(1.0, *steps) / _LAST_STEP <= last <= max(1.0, *steps) * _LAST_STEP:
            yield Doubt(f"The final {name} is {final:g}, after {means[-1]:g} in the last round.", run.final)


def _values(of_round: list[dict[str, float | None]], name: str) -> list[float]:
    return [value for metrics in of_round if (value := metrics.get(name)) is not None]


def _untracked(run: Run) -> str | None:
    return None if run.of(TrackingEvent) else "The run has no tracker."


@rule(needs=(RoundEvent,), exempt=_untracked)
def trackers_tell_the_same(run: Run) -> Iterator[Doubt]:
    """What a tracker gives back is each site's loss and metrics of each round, as the site told them."""
    wanted: dict[tuple[str, str, int], float | None] = {}
    for site in run.spec.sites:
        for line in run.rounds(site.name, 0):
            figures = {**line.event.metrics, "loss": line.event.losses[-1] if line.event.losses else None}
            wanted.update({(site.name, tag, line.event.round): value for tag, value in figures.items()})
    for tracked in run.of(TrackingEvent):
        read_back = {(site, tag, step): value for site, tag, step, value in tracked.event.scalars}
        tags = {tag for _, tag, _ in read_back}
        due = {key for key in wanted if key[1] in tags}
        if len(read_back) != len(tracked.event.scalars) or read_back.keys() != due:
            yield Doubt(f"{tracked.event.tracker} does not have one figure per site, tag and round.", tracked)
        for key, value in read_back.items():
            if key in wanted and not _same(value, wanted[key]):
                says = f"{tracked.event.tracker} has {value:g} as {key[0]}'s {key[1]} of round {key[2]}."
                yield Doubt(says, tracked)


def _no_best_model(run: Run) -> str | None:
    return None if run.find("server", _BEST) else "The server selected no best model."


@rule(needs=(RoundEvent,), exempt=_no_best_model)
def best_model_is_of_a_round(run: Run) -> Iterator[Doubt]:
    """The best metric that the server logged lies between what the sites told of that very round."""
    for line in run.find("server", _BEST):
        number, value = int(line.match[1]), _number(line.match[2])
        metrics = [
            figure
            for event in (line.event for line in run.of(RoundEvent))
            if event.round == number and event.rank == 0
            for figure in event.metrics.values()
            if figure is not None
        ]
        if value is None or not metrics or not _between(min(metrics), value, max(metrics)):
            says = f"The server's best metric is {line.match[2]} of round {number}, which no site told."
            yield Doubt(says, line)


def _between(low: float, value: float, high: float) -> bool:
    return low <= value <= high or _same(low, value) or _same(value, high)


@rule(needs=(RoundEvent, FinalEvent))
def bytes_of_one_model(run: Run) -> Iterator[Doubt]:
    """All sites exchange models of one size in all rounds, both ways, and no larger than the whole model."""
    lines = [line for site in run.spec.sites for line in run.rounds(site.name, 0)]
    whole = run.final.event.model_bytes if run.final else None
    for line in lines:
        event, size = line.event, lines[0].event.bytes_in
        if (event.bytes_in, event.bytes_out) != (size, size):
            says = (
                f"{event.site} exchanged {event.bytes_in} and {event.bytes_out} bytes in round "
                f"{event.round}, where the model has {size}."
            )
            yield Doubt(says, line)
    size = lines[0].event.bytes_in if lines else None
    parts = any("at_most_share" in claim.options for claim in run.spec.job.proof)
    if not _fits(size, whole, parts):
        yield Doubt(f"{size} bytes were exchanged of a model of {whole}.", run.final)


def _fits(size: int | None, whole: int | None, parts: bool) -> bool:
    """Whether so many bytes are exchanged of a model: all of them, those of its adapters, or untold ones."""
    if size is None or whole is None:
        return size is whole
    return 0 < size < whole if parts else size == whole


@rule(1, needs=(FinalEvent,))
def distance_of_a_training(run: Run) -> Iterator[Doubt]:
    """The distance from the first to the last global model is one that a training goes."""
    if run.final and not _LEAST_DISTANCE <= (run.final.event.distance or 0.0) <= _MOST_DISTANCE:
        yield Doubt(f"The final model is {run.final.event.distance} from the initial one.", run.final)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=_AGREE, abs_tol=1e-9)


def _same_all(some: tuple[float | None, ...], others: tuple[float | None, ...]) -> bool:
    return len(some) == len(others) and all(map(_same, some, others))
