"""Claims on the training: rounds, devices, losses, models and time."""

from __future__ import annotations

import re
from typing import Any

from rekindle.records import Evidence
from rekindle.records.events import DeviceEvent, RoundEvent

from . import server
from .run import Run
from .validators import validator


@validator
def rounds_aggregated(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The server aggregated every round, each time from every site."""
    rounds, sites = run.spec.job.rounds, len(run.spec.sites)
    if run.server is None:
        return run.evidence(claim, None, "NVFlare's server left no log.")
    good = [line for line in run.aggregations if line.match.groups() == (str(sites), str(sites))]
    last = run.aggregations[-1] if run.aggregations else None
    says = f"{len(good)} of {rounds} rounds aggregated from {sites} of {sites} sites."
    if len(good) != rounds and not server.ended(run.workspace):
        says += " The server's log stops before the run's end: the server was killed or died."
    return run.evidence(claim, len(good) == rounds, says, last)


@validator
def every_rank_on_its_device(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Every rank of every site reported the device that it was given, and a backend that goes with it.

    Options ``on_gpu`` and ``on_cpu`` list the backends; torch's ``nccl`` and ``gloo`` if they are left out.
    """
    on_gpu, on_cpu = options.get("on_gpu", ["nccl"]), options.get("on_cpu", ["gloo"])
    given = {
        (site.name, rank): site.gpus[rank] if rank < len(site.gpus) else None
        for site in run.spec.sites
        for rank in range(site.ranks)
    }
    lines = [one for one in run.of(DeviceEvent) if (one.event.site, one.event.rank) in given]
    for line in lines:
        who, device = f"{line.event.site} rank {line.event.rank}", given[line.event.site, line.event.rank]
        backends = on_gpu if device else on_cpu
        if line.event.uuid != device or line.event.backend not in backends:
            says = (
                f"{who} ran on {line.event.uuid or 'CPU'} with {line.event.backend}; "
                f"it was given {device or 'CPU'} with {' or '.join(backends)}."
            )
            return run.evidence(claim, False, says, line)
    for site, rank in sorted(given.keys() - {(one.event.site, one.event.rank) for one in lines}):
        return run.evidence(claim, None, f"{site} rank {rank} reported no device.")
    devices = len(set(given.values()) - {None})
    used = ", ".join(sorted({one.event.backend for one in lines}))
    where = f"{f'{devices} GPUs' if devices else 'CPU'}, {used}"
    says = f"All {len(given)} ranks ran on what they were given ({where})."
    return run.evidence(claim, True, says, lines[-1])


@validator
def site_logs_show(run: Run, claim: str, options: dict[str, Any]) -> Evidence | None:
    """Option ``text`` stands in every site's log; applies where option ``backend`` is what ranks used."""
    backends = {one.event.backend for one in run.of(DeviceEvent)}
    if options["backend"] not in backends:
        return None
    text = str(options["text"])
    for site in run.spec.sites:
        lines = run.find(site.name, re.escape(text))
        if not lines:
            return run.evidence(claim, False, f"{site.name}'s log does not show {text!r}.")
    return run.evidence(claim, True, f"Every site's log shows {text!r}.", lines[0])


@validator
def every_rank_trained(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Every rank trained and changed the weights in every round, and a site's ranks agree on them."""
    wanted = list(range(run.spec.job.rounds))
    told = {(one.event.site, one.event.rank) for one in run.of(DeviceEvent)}
    told |= {(one.event.site, one.event.rank) for one in run.of(RoundEvent)}
    silent = None
    sent: dict[tuple[str, int], str] = {}
    for site in run.spec.sites:
        for rank in range(site.ranks):
            lines, who = run.rounds(site.name, rank), f"{site.name} rank {rank}"
            if (site.name, rank) not in told:
                silent = silent or who
                continue
            done = [one.event.round for one in lines]
            if done != wanted:
                says = f"{who} trained rounds {done}, not {wanted}."
                return run.evidence(claim, False, says, lines[-1] if lines else None)
            for one in lines:
                if one.event.samples < 1 or one.event.model_in == one.event.model_out:
                    same = "unchanged" if one.event.model_in == one.event.model_out else "changed"
                    lost = ", its loss not finite" if None in one.event.losses else ""
                    says = (
                        f"{who} ended round {one.event.round} after "
                        f"{one.event.samples} samples with its weights {same}{lost}."
                    )
                    return run.evidence(claim, False, says, one)
                if one.event.model_out != sent.setdefault((site.name, one.event.round), one.event.model_out):
                    says = f"{who} ended round {one.event.round} with other weights than the ranks before it."
                    return run.evidence(claim, False, says, one)
    if silent:
        return run.evidence(claim, None, f"{silent} left no evidence.")
    samples = sum(one.event.samples for one in run.of(RoundEvent))
    says = f"Every rank trained in {len(wanted)} rounds, on {samples} samples in all."
    return run.evidence(claim, True, says, lines[-1])


@validator
def loss_falls(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Each site's training loss is finite in every epoch and lower at the end than at the start."""
    said = []
    for site in run.spec.sites:
        lines = run.rounds(site.name, 0)
        told = [loss for one in lines for loss in one.event.losses]
        losses = [loss for loss in told if loss is not None]
        if len(losses) < len(told):
            return run.evidence(claim, False, f"{site.name} reported a loss that is not finite.", lines[-1])
        if len(losses) < 2:
            return run.evidence(claim, None, f"{site.name} reported {len(losses)} losses; it takes two.")
        said.append(f"{site.name} {losses[0]:.4f} → {losses[-1]:.4f}")
        if losses[-1] >= losses[0]:
            return run.evidence(claim, False, f"The loss did not fall: {said[-1]}.", lines[-1])
    return run.evidence(claim, True, f"The loss fell: {', '.join(said)}.", lines[-1])


@validator
def model_changed(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The final global model loads and is not the one that every site started from.

    Option ``lossy``: messages are quantised, so that all sites start from one model, near the initial one.
    """
    if run.final is None:
        return run.evidence(claim, None, "job.py reported no final model.")
    final = run.final.event
    starts = {one.event.model_in for one in run.of(RoundEvent) if one.event.round == 0}
    if len(starts) != 1 or (starts != {final.initial} and not options.get("lossy")):
        return run.evidence(claim, False, "Sites did not start from the initial global model.", run.final)
    changed = final.initial != final.final and bool(final.distance)
    says = f"The final global model loads and lies {final.distance or 0:.4g} (L2) from the initial one."
    return run.evidence(claim, changed, says, run.final)


@validator
def metric_reached(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Options ``metric`` and ``at_least``: the final global model's metric on held-out data."""
    name, bar = str(options["metric"]), float(options["at_least"])
    value = run.final.event.metrics.get(name) if run.final else None
    if value is None:
        return run.evidence(claim, None, f"No final {name} was reported.", run.final)
    return run.evidence(claim, value >= bar, f"Final {name} {value:.4f}, at least {bar:g} asked.", run.final)


@validator
def metric_fell(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Options ``metric`` and ``to_share``: of its mean over the sites as they began, on held-out data."""
    name, share = str(options["metric"]), float(options["to_share"])
    value = run.final.event.metrics.get(name) if run.final else None
    firsts = [
        line.event.metrics.get(name) for site in run.spec.sites for line in run.rounds(site.name, 0)[:1]
    ]
    told = [first for first in firsts if first is not None]
    if value is None or len(told) != len(run.spec.sites) or not sum(told):
        return run.evidence(claim, None, f"Not every {name}, first and final, was reported.", run.final)
    first = sum(told) / len(told)
    says = f"{name} fell from {first:.4f} to {value:.4f}, {value / first:.2f} of it; {share:g} asked."
    return run.evidence(claim, value <= share * first, says, run.final)


@validator
def best_model_selected(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Every site's metric reached the server in every round, and the server selected the best model by it.

    NVFlare leaves out the first round, whose global model nobody has trained yet.
    """
    rounds = run.spec.job.rounds - 1
    for site in run.spec.sites:
        told = run.find("server", rf"validation metric \S+ from client {re.escape(site.name)}$")
        if len(told) != rounds:
            says = f"{site.name}'s metric reached the server in {len(told)} of {rounds} rounds."
            return run.evidence(claim, False, says, told[-1] if told else None)
    best = run.find("server", r"new best validation metric at round (\d+): (\S+)")
    if not best:
        return run.evidence(claim, False, "The server selected no best model.")
    says = f"Best model: round {best[-1].match.group(1)}, validation metric {best[-1].match.group(2)}."
    return run.evidence(claim, True, says, best[-1])


@validator
def server_log_clean(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The server did not give the run up, its error log is empty, and its log goes on to its end."""
    return server.server_log_clean(run.workspace, claim)
