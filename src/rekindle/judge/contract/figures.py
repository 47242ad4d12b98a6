"""That figures lie where such figures can lie, and agree where two processes tell one and the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from rekindle.judge.run import Run
from rekindle.records.events import RoundEvent

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
_PARAMETER_CHANGE = 1.0
"""Root mean square over all parameters, at most: networks start with weights of about 0.01 to 1."""
_SPREAD = 3.0
"""How many times one site's first figure may be another's: they start from one and the same model."""


@rule()
def losses_of_every_epoch(run: Run) -> Iterator[Doubt]:
    """Every rank tells a loss for each epoch of each round, finite and where a loss can lie."""
    epochs = run.spec.job.arguments.get("local_epoch")
    low, high = _BOUNDS["loss"]
    for line in run.of(RoundEvent):
        event = line.event
        where = f"{event.site} rank {event.rank} in round {event.round}"
        wanted = epochs or len(run.of(RoundEvent)[0].event.losses)
        if len(event.losses) != wanted:
            yield Doubt(f"{where} tells {len(event.losses)} losses of {wanted} epochs.", line)
        for loss in event.losses:
            if loss is None:
                yield Doubt(f"{where} tells a loss that is not finite.", line, holds=False)
            elif not low <= loss <= high:
                yield Doubt(f"{where} tells a loss of {loss:g}, which no mean cross-entropy is.", line)


@rule()
def losses_still_fall(run: Run) -> Iterator[Doubt]:
    """No rank's loss rises tenfold from one epoch to the next, nor is it one and the same in all of them."""
    for site in run.spec.sites:
        for rank in range(site.ranks):
            lines = run.rounds(site.name, rank)
            losses = [loss for line in lines for loss in line.event.losses if loss is not None]
            if len(losses) > 1 and len(set(losses)) == 1:
                yield Doubt(
                    f"{site.name} rank {rank} tells one loss, {losses[0]:g}, of all epochs.", lines[0]
                )
            for before, after in pairwise(losses):
                if after > 10 * max(before, 1e-3):
                    says = f"{site.name} rank {rank} tells a loss of {after:g} after one of {before:g}."
                    yield Doubt(says, lines[0])


@rule()
def ranks_agree(run: Run) -> Iterator[Doubt]:
    """The ranks of a site tell the same losses, metrics and number of samples: means over all of them."""
    for site in run.spec.sites:
        first = {line.event.round: line.event for line in run.rounds(site.name, 0)}
        for rank in range(1, site.ranks):
            for line in run.rounds(site.name, rank):
                event, other = line.event, first.get(line.event.round)
                where = f"{site.name} ranks 0 and {rank} in round {event.round}"
                if other is None:
                    continue
                if not _same_all(event.losses, other.losses):
                    yield Doubt(f"{where} tell different losses.", line)
                if event.metrics.keys() != other.metrics.keys() or not _same_all(
                    tuple(event.metrics.values()), tuple(other.metrics[name] for name in event.metrics)
                ):
                    yield Doubt(f"{where} tell different metrics of one model.", line)
                if event.samples != other.samples:
                    says = f"{where} tell {other.samples} and {event.samples} samples."
                    yield Doubt(says, line)
                if (event.bytes_in, event.bytes_out) != (None, None):
                    says = f"{site.name} rank {rank} tells sizes of messages, which rank 0 alone exchanges."
                    yield Doubt(says, line)


@rule()
def as_many_samples_each_round(run: Run) -> Iterator[Doubt]:
    """A rank goes through as many samples in each round: its data and epochs stay the same."""
    for site in run.spec.sites:
        for rank in range(site.ranks):
            lines = run.rounds(site.name, rank)
            for line in lines:
                if line.event.samples != lines[0].event.samples:
                    says = (
                        f"{site.name} rank {rank} went through {line.event.samples} samples in round "
                        f"{line.event.round} and {lines[0].event.samples} in round {lines[0].event.round}."
                    )
                    yield Doubt(says, line)


@rule()
def metrics_in_their_range(run: Run) -> Iterator[Doubt]:
    """Every metric is finite, in the range of its name, and told in every round by every rank."""
    names: set[str] = set()
    told = [(f"{one.event.site} rank {one.event.rank}", one, one.event.metrics) for one in run.of(RoundEvent)]
    names.update(*(metrics.keys() for _, _, metrics in told))
    final = [("job.py", run.final, run.final.event.metrics)] if run.final else []
    for who, line, metrics in [*told, *final]:
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


@rule()
def first_metrics_are_of_one_model(run: Run) -> Iterator[Doubt]:
    """All sites start from one model, whose figures at one site are about those at another."""
    firsts = [line for site in run.spec.sites for line in run.rounds(site.name, 0)[:1]]
    for line in firsts:
        for name, value in line.event.metrics.items():
            other = firsts[0].event.metrics.get(name)
            if value and other and not 1 / _SPREAD <= value / other <= _SPREAD:
                says = (
                    f"The first model has {name} {value:g} at {line.event.site} and {other:g} at "
                    f"{firsts[0].event.site}."
                )
                yield Doubt(says, line)


@rule()
def server_saw_these_metrics(run: Run) -> Iterator[Doubt]:
    """The metric that the server logged of a site and round is one that the site told of that round.

    NVFlare leaves out the first round.
    """
    for site in run.spec.sites:
        lines = run.rounds(site.name, 0)
        pattern = rf"IntimeModelSelector .* validation metric (\S+) from client {re.escape(site.name)}$"
        logged = run.find("server", pattern)
        for line, log in zip(lines[1:], logged, strict=False):
            value = _number(log.match[1])
            if not any(_same(value, told) for told in line.event.metrics.values()):
                says = (
                    f"The server had {log.match[1]} as {site.name}'s metric of round {line.event.round}, "
                    "which is none that the site told."
                )
                yield Doubt(says, line)


@rule()
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
        if size is not None and (size < 1 or (whole is not None and size > whole)):
            yield Doubt(f"{event.site} exchanged {size} bytes of a model of {whole}.", line)


@rule()
def distance_is_one(run: Run) -> Iterator[Doubt]:
    """The distance from the first to the last model is that of a training: above 0, finite, not absurd."""
    if run.final is None:
        return
    distance = run.final.event.distance
    if distance is None or distance <= 0:
        yield Doubt(f"The final model is {distance} from the initial one.", run.final, holds=False)
        return
    parameters = _parameters(run)
    if parameters is None:
        return
    change = distance / math.sqrt(parameters)
    if not 1e-6 <= change <= _PARAMETER_CHANGE:
        says = (
            f"The final model is {distance:g} from the initial one: {change:.3g} for each of about "
            f"{parameters:.2g} parameters, which no training does."
        )
        yield Doubt(says, run.final)


def _parameters(run: Run) -> float | None:
    """Return about how many there are, by the size of what a site sent, in float32."""
    sizes = [line.event.bytes_out for line in run.of(RoundEvent) if line.event.bytes_out]
    if not sizes:
        logged = run.find(run.spec.sites[0].name, r"SubmitUpdate to: server\. size: \S+ \((\d{1,15}) Bytes\)")
        sizes = [int(line.match[1]) for line in logged]
    return max(sizes) / 4 if sizes else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_AGREE, abs_tol=1e-9)


def _same_all(ones: tuple[float | None, ...], others: tuple[float | None, ...]) -> bool:
    return len(ones) == len(others) and all(map(_same, ones, others))
