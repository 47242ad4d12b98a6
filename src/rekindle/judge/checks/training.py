"""Claims on the training: devices, samples, losses, models and metrics."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from rekindle.flare.workspace import SERVER
from rekindle.judge.check import Result, check, fails, holds, shown, unknown
from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, FinalEvent, RoundEvent

_RANGES = {"accuracy": (0.0, 1.0), "loss": (0.0, 1e4), "eval_loss": (0.0, 1e4)}
"""Mean cross-entropies are above 20 only for a model that is very sure of wrong answers."""
_OF_RANKS = (DeviceEvent, RoundEvent)
_FINAL = "Final metrics: "
"""What job.py prints before them; older ones print none."""
_METRIC = r"validation metric (-?\d{1,9}(?:\.\d{1,30})?(?:e-?\d\d)?) from client (\S{1,200})$"
"""The server's message as it selects a model by a site's metric."""


@check("claim", needs=(DeviceEvent,))
def every_rank_on_its_device(run: Run, options: dict[str, Any]) -> Result:
    """Every rank of every site reported the device that it was given, and a backend that goes with it.

    Options ``on_gpu`` and ``on_cpu`` list the backends; torch's ``nccl`` and ``gloo`` if they are left out.
    """
    on_gpu, on_cpu = options.get("on_gpu", ["nccl"]), options.get("on_cpu", ["gloo"])
    given = {
        (site.name, rank): site.gpus[rank] if rank < len(site.gpus) else None
        for site in run.spec.sites
        for rank in range(site.ranks)
    }
    lines = [line for line in run.of(DeviceEvent) if (line.event.site, line.event.rank) in given]
    for line in lines:
        device = given[line.event.site, line.event.rank]
        backends = on_gpu if device else on_cpu
        used = None if device and line.event.device == "cpu" else line.event.uuid
        if used != device or line.event.backend not in backends:
            message = (
                f"{line.event.who} ran on {used or 'CPU'} with {line.event.backend}; "
                f"it was given {device or 'CPU'} with {' or '.join(backends)}."
            )
            return fails(message, line)
    for site, rank in sorted(given.keys() - {(line.event.site, line.event.rank) for line in lines}):
        return unknown(f"{site} rank {rank} reported no device.")
    devices = len(set(given.values()) - {None})
    used = ", ".join(sorted({line.event.backend for line in lines}))
    where = f"{f'{devices} GPUs' if devices else 'CPU'}, {used}"
    return holds(f"All {len(given)} ranks ran on what they were given ({where}).", lines[-1])


@check("ours", needs=(DeviceEvent,))
def processes_are_distinct(run: Run) -> Iterator[Result]:
    """No two sites share a process; a site's ranks are one each, TensorFlow's replicas one on each node."""
    owners: dict[tuple[str | None, int], str] = {}
    for (name, _), process in run.processes.items():
        if owners.setdefault(process, name) != name:
            yield unknown(f"{name} and {owners[process]} both ran in process {process[1]}.")
    replicas = any(line.event.device.startswith("/") for line in run.of(DeviceEvent))  # TensorFlow's names
    timed: dict[tuple[float, ...], tuple[str, int]] = {}
    for who in () if replicas else run.processes:
        seconds = tuple(line.event.seconds for line in run.rounds(*who))
        first = timed.setdefault(seconds, who)
        if first != who and len(seconds) > 1:  # of one round, two of many ranks may agree
            others = f"{first[0]} rank {first[1]}, to the last digit"
            yield unknown(f"{who[0]} rank {who[1]} took as long for its rounds as {others}.")
    for site in run.spec.sites:
        count = len({process for (name, _), process in run.processes.items() if name == site.name})
        if count not in {0, len(run.nodes) if replicas else site.ranks}:
            yield unknown(f"{site.ranks} ranks of {site.name} ran in {count} processes.")


@check("claim", needs=(DeviceEvent,))
def site_logs_show(run: Run, options: dict[str, Any]) -> Result:
    """Option ``text`` stands in every site's log; applies where option ``backend`` is what ranks used."""
    backends = {line.event.backend for line in run.of(DeviceEvent)}
    if options["backend"] not in backends:
        return Result("not applicable", f"No rank used {options['backend']}.")
    text = str(options["text"])
    for site in run.spec.sites:
        lines = run.find(site.name, re.escape(text))
        if not lines:
            return fails(f"{site.name}'s log does not show {text!r}.")
    return holds(f"Every site's log shows {text!r}.", lines[0])


@check("claim", needs=(RoundEvent,))
def every_rank_trained(run: Run) -> Result:
    """Every rank trained and changed the weights in every round, and a site's ranks agree on them."""
    wanted = list(range(run.spec.job.rounds))
    reporting = {
        (line.event.site, line.event.rank) for line in run.lines if isinstance(line.event, _OF_RANKS)
    }
    silent = [f"{site} rank {rank}" for site, rank in run.ranks if (site, rank) not in reporting]
    sent: dict[tuple[str, int], str] = {}
    for site, rank in run.ranks:
        if (site, rank) not in reporting:
            continue
        lines, who = run.rounds(site, rank), f"{site} rank {rank}"
        done = [line.event.round for line in lines]
        if done != wanted:
            return fails(f"{who} trained rounds {done}, not {wanted}.", lines[-1] if lines else None)
        for line in lines:
            event = line.event
            changed = event.model_in != event.model_out
            if event.samples < 1 or not changed:
                message = (
                    f"{who} ended round {event.round} after {event.samples} samples with its weights "
                    f"{'changed' if changed else 'unchanged'}"
                    f"{', its loss not finite' if None in event.losses else ''}."
                )
                return fails(message, line)
            if event.model_out != sent.setdefault((site, event.round), event.model_out):
                message = f"{who} ended round {event.round} with other weights than the ranks before it."
                return fails(message, line)
    if silent:
        return unknown(f"{silent[0]} left no evidence.")
    samples = sum(line.event.samples for line in run.of(RoundEvent))
    return holds(f"Every rank trained in {len(wanted)} rounds, on {samples} samples in all.", lines[-1])


@check("claim", needs=(RoundEvent,))
def loss_falls(run: Run) -> Result:
    """Each site's training loss is finite in every epoch and lower at the end than at the start."""
    falls = []
    for name, rank in run.ranks:
        same = [loss for line in run.rounds(name, rank) for loss in line.event.losses]
        if len(same) > 1 and len({*same}) == 1 and same[0] is not None:
            return fails(f"The loss of {name} rank {rank} is {same[0]} in all of {len(same)} epochs.")
    for site in run.spec.sites:
        lines = run.rounds(site.name, 0)
        reported = [loss for line in lines for loss in line.event.losses]
        losses = [loss for loss in reported if loss is not None]
        if len(losses) < len(reported):
            return fails(f"{site.name} reported a loss that is not finite.", lines[-1])
        if len(losses) < 2:
            return unknown(f"{site.name} reported {len(losses)} losses; it takes two.")
        falls.append(f"{site.name} {losses[0]:.4f} → {losses[-1]:.4f}")
        if losses[-1] >= losses[0]:
            return fails(f"The loss did not fall: {falls[-1]}.", lines[-1])
    return holds(f"The loss fell: {', '.join(falls)}.", lines[-1])


@check("ours", needs=(RoundEvent,))
def metrics_in_their_range(run: Run) -> Iterator[Result]:
    """Every loss and metric is finite, accuracies are shares, and losses are not negative."""
    rounds = [(line.event.who, line, line.event.metrics) for line in run.of(RoundEvent)]
    for line in run.of(RoundEvent):
        rounds += [(line.event.who, line, {"loss": loss}) for loss in line.event.losses]
    final = [("job.py", run.final, run.final.event.metrics)] if run.final else []
    for who, at, metrics in [*rounds, *final]:
        for name, value in metrics.items():
            low, high = _RANGES.get(name, (-math.inf, math.inf))
            if value is None:
                yield (fails if name == "loss" else unknown)(
                    f"{who} reported a {name} that is not finite.", at
                )
            elif not low <= value <= high:
                yield unknown(f"{who} reported {name} {value:g}, not between {low:g} and {high:g}.", at)
    yield from _contradicted(run)


def _contradicted(run: Run) -> Iterator[Result]:
    """Yield each metric that job.py printed, or the server logged, and that the evidence does not have."""
    for line in run.job_log:
        if line.startswith(_FINAL) and run.final and _parsed(line) != run.final.event.metrics:
            yield unknown(f"job.py recorded other metrics than it printed: {line[:200]}.", run.final)
    reported = {
        site.name: {
            abs(value or 0) for line in run.rounds(site.name, 0) for value in line.event.metrics.values()
        }
        for site in run.spec.sites
    }
    for metric in run.find(SERVER, _METRIC):
        value, site = abs(float(metric.match[1])), metric.match[2]
        if site not in run.lost and value not in reported.get(site, ()):
            message = f"The server had a metric of {value:g} from {site}, which {site} did not report."
            yield unknown(message, metric)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line.removeprefix(_FINAL))
    except (ValueError, RecursionError):
        return None


@check("claim", needs=(FinalEvent, RoundEvent))
def model_changed(run: Run, options: dict[str, Any]) -> Result:
    """The final global model loads and is not the one that every site started from.

    Option ``lossy``: messages are quantised, so that all sites start from one model, near the initial one.
    """
    assert run.final is not None
    final = run.final.event
    starts = {line.event.model_in for line in run.of(RoundEvent) if line.event.round == 0}
    if len(starts) != 1 or (starts != {final.initial} and not options.get("lossy")):
        return fails("Sites did not start from the initial global model.", run.final)
    if final.distance is None:
        message = "The final global model has weights that are not finite, or of another shape."
        return fails(message, run.final)
    changed = final.initial != final.final and final.distance > 0
    message = f"The final global model loads; its L2 distance from the initial one is {final.distance:.4g}."
    return shown(changed, message, run.final)


@check("claim", needs=(FinalEvent,))
def metric_reached(run: Run, options: dict[str, Any]) -> Result:
    """Options ``metric`` and ``at_least``: the final global model's metric on held-out data."""
    name, bar = str(options["metric"]), float(options["at_least"])
    value = run.final.event.metrics.get(name) if run.final else None
    if value is None:
        return unknown(f"No final {name} was reported.", run.final)
    return shown(value >= bar, f"Final {name} {value:.4f}; at least {bar:g} is required.", run.final)


@check("claim", needs=(FinalEvent, RoundEvent))
def metric_fell(run: Run, options: dict[str, Any]) -> Result:
    """Options ``metric`` and ``to_share``: of its mean over the sites as they began, on held-out data."""
    name, share = str(options["metric"]), float(options["to_share"])
    value = run.final.event.metrics.get(name) if run.final else None
    lines = [line for site in run.spec.sites for line in run.rounds(site.name, 0)[:1]]
    firsts = [first for line in lines if (first := line.event.metrics.get(name)) is not None]
    if value is None or len(firsts) != len(run.spec.sites) or not sum(firsts):
        return unknown(f"Not every {name}, first and final, was reported.", run.final)
    first = sum(firsts) / len(firsts)
    fell = f"{name} went from {first:.4f} to {value:.4f}, to {value / first:.2f} of it"
    message = f"{fell}; at most {share:g} is required."
    return shown(value <= share * first, message, run.final)
