# SPDX-License-Identifier: Apache-2.0
"""Claims on the training: the devices of ranks, and that every site changed the model that it was sent."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from statistics import median

from rekindle.flare.configuration import list_trainers, read_sites
from rekindle.judge.check import Options, Result, fails, holds, register_claim, unknown
from rekindle.judge.figures import does_improve
from rekindle.judge.run import Run
from rekindle.judge.tasks import is_zeros
from rekindle.records.events import DeviceEvent, RoundEvent, TaskEvent
from rekindle.records.evidence import EvidenceLine

from .aggregation import group_by_site

_Results = list[EvidenceLine[TaskEvent]]
_SLOW, _STANDS = 0.4, 0.01
"""Of the others' way by each reported step; sites with other data differ less, even if they report none."""
_OF_IT = 0.5
"""Correlation of a model with the one that it was made of; a gradient has less."""
_FEW, _FEW_OF = 100, 0.005
"""Parameters that change: fewer than those of a layer, or a prompt, that is trained alone."""

_NO_TRAINING: dict[str, tuple[str, Callable[[TaskEvent], object]]] = {
    "idles": (
        "{site} computes gradients, and no optimizer steps before it sends a model at {place}: what changed "
        "in its model is no training.",
        lambda event: (event.kept or 0.0) > _OF_IT,  # a gradient that is sent itself is no such model
    ),
    "vain": (
        "{site} steps an optimizer that has no gradient in any round, and sends what nothing trained at "
        "{place}: it may hold the parameters of an earlier model.",
        lambda event: event.still,
    ),
    "rates": (
        "{site}'s learning rate is 0 in every step for most of what has gradients, and it sends that at "
        "{place}: freeze what is not to be trained by requires_grad=False.",
        lambda event: True,
    ),
}
"""What a note of a misuse says, and whether a result agrees with it."""


@register_claim(
    holds="Every rank of every site reported the device that it was given, and a backend that goes with it.",
    needs=(DeviceEvent,),
    may_take={"on_gpu": list, "on_cpu": list},
)
def every_rank_on_its_device(run: Run, options: Options) -> Result:
    """Options ``on_gpu`` and ``on_cpu`` list the backends; if left out torch's, ``nccl`` and ``gloo``."""
    on_gpu, on_cpu = options.get("on_gpu", ["nccl"]), options.get("on_cpu", ["gloo"])
    given = {
        (site.name, rank): site.gpus[rank] if rank < len(site.gpus) else None
        for site in run.spec.sites
        for rank in range(site.ranks)
    }
    lines = [line for line in run.find(DeviceEvent) if (line.event.site, line.event.rank) in given]
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


@register_claim(
    holds="The text that the job names stands in every site's log.",
    needs=(DeviceEvent,),
    takes={"text": str, "backend": str},
)
def site_logs_show(run: Run, options: Options) -> Result:
    """Options: ``text``, and ``backend``; it applies where ranks used that."""
    backends = {line.event.backend for line in run.find(DeviceEvent)}
    if options["backend"] not in backends:
        return Result("not applicable", f"No rank used {options['backend']}.")
    text = str(options["text"])
    for site in run.spec.sites:
        lines = run.logs.find(site.name, re.escape(text))
        if not lines:
            return fails(f"{site.name}'s log does not show {text!r}.")
    return holds(f"Every site's log shows {text!r}.", lines[0])


@register_claim(
    holds="Every site's result of every training task is a model other than the one that it was sent.",
    needs=(TaskEvent,),
)
def every_site_trained(run: Run, options: Options) -> Iterator[Result]:
    """Where no result can be compared, as a gradient cannot with a model, each is a number other than 0.

    So is one of a first round that sent settings and no model, as scikit-learn's. A rank that records its
    rounds trained in each of them.
    """
    results = run.training.results
    moving = [line for line in results if line.event.round not in run.training.converged]
    yield from chain(_unchanged(moving), _idle(moving), _untrained_ranks(run))
    yield from chain(_blank(run, results), _uncompared(results), _silent_sites(run), _silent_ranks(run))
    yield from chain(_partly(run), _hardly(run), _skipping(run), _misused(run))
    if results:
        who = "Every site" if len(_trainers(run)) == len(run.spec.sites) else "Every site that trains"
        message = f"{who} sent back another model than it was sent, in {len(results)} results."
        if run.training.converged:
            first = min(run.training.converged)
            message = f"{who} trained until the model was a fixed point of all, from round {first}."
        message += " None did in the first round." if all(line.event.round for line in results) else ""
        if samples := sum(line.event.samples for line in run.find(RoundEvent)):
            message += f" Its ranks trained on {samples} samples in all."
        yield holds(message, results[-1])


def _unchanged(results: _Results) -> Iterator[Result]:
    for line in results:
        if message := _wrong(line.event):
            yield fails(message, line)


def _wrong(event: TaskEvent) -> str | None:
    where = event.site if event.round is None else f"{event.site} in round {event.round}"
    if not event.values:
        return None if event.bytes else f"{where} sent nothing back."
    if event.finite is False:
        return f"{where} sent what is not finite."
    if (event.kind == "WEIGHT_DIFF" and event.norm == 0) or event.moved == 0:
        why = "as without data, where its optimizer has other parameters, or a filter cuts its change"
        return f"{where} sent back the model that it was sent: it did not train, {why}."
    if event.controls == 0:
        return f"{where} sent SCAFFOLD controls that are all zeros."
    return f"{where} sent zeros." if event.norm == 0 and not is_zeros(event) else None


def _idle(results: _Results) -> Iterator[Result]:
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


def _blank(run: Run, results: _Results) -> Iterator[Result]:
    if blank := next((line for line in results if line.event.blank), None):
        message = (
            f"{blank.event.blank} of {blank.event.values} parameters, entire arrays, are 0 "
            f"in {blank.event.site}'s result, and were not in the model that it was sent."
        )
        yield unknown(message, blank)
    if zero := next((line for line in results if is_zeros(line.event)), None):
        yield unknown(f"{zero.event.site} sent integers that are all 0: nothing shows that it trained.", zero)
    raw = [line for line in results if not line.event.values]
    if raw and not (len(raw) == len(results) and _differ(raw) and does_improve(run)):
        message = (
            f"{raw[0].event.site} sent {raw[0].event.bytes} bytes that are no numbers, as trees and "
            "ciphertexts are: nothing shows that it trained."
        )
        yield unknown(message, raw[0])


def _differ(results: _Results) -> bool:
    """Whether each site's results are not all of one size, as trees that are grown from other draws."""
    sizes: dict[str, set[int]] = {}
    for line in results:
        sizes.setdefault(line.event.site, set()).add(line.event.bytes)
    return all(len(of_site) > 1 for of_site in sizes.values())


def _uncompared(results: _Results) -> Iterator[Result]:
    uncompared = [line for line in results if line.event.moved is None and line.event.kind != "WEIGHT_DIFF"]
    began = min((line.event.round or 0 for line in results), default=0)  # with settings, and no model yet
    later = [line for line in uncompared if (line.event.round or 0) > began]
    if later and len(uncompared) < len(results):
        event = later[0].event
        yield unknown(f"{event.site}'s result was compared with nothing, unlike others.", uncompared[0])


def _partly(run: Run) -> Iterator[Result]:
    """Yield each site that leaves arrays as they are in every round that each other site always trains."""
    by_site = group_by_site(run)
    still = {site for site, lines in by_site.items() if all(line.event.still for line in lines)}
    others = [line.event for site in by_site.keys() - still for line in by_site[site]]
    if others and not any(event.still for event in others):
        for site in sorted(still):
            line = by_site[site][-1]
            arrays = f"{line.event.still} of {line.event.values} parameters, entire arrays,"
            message = (
                f"{site} sent {arrays} back as it got them in every round, and the others changed all: "
                "it may not train them."
            )
            yield unknown(message, line)


def _hardly(run: Run) -> Iterator[Result]:
    """Yield that results change next to none of the parameters, where nothing shows that this is enough."""
    models = run.training.models
    most = max((line.event.values - line.event.still for line in models), default=0)
    least = min((line.event.values for line in models), default=0)
    if 0 < most < min(_FEW, least * _FEW_OF) and not does_improve(run):
        message = (
            f"Results change at most {most} of {least} parameters, and the sites report nothing that gets "
            "clearly better: next to nothing is trained, or a filter cuts it away."
        )
        yield unknown(message, models[-1])


def _misused(run: Run) -> Iterator[Result]:
    """Yield each site whose optimizer was noted to train nothing, if its results show no other training."""
    by_site = group_by_site(run)
    for note in run.misuses:
        theirs = [line.event for line in by_site.get(note.event.site, ())]
        message, agrees = _NO_TRAINING.get(note.event.by, ("", bool))
        if message and theirs and all(map(agrees, theirs)):
            yield unknown(message.format(site=note.event.site, place=note.event.place), note)


def _skipping(run: Run) -> Iterator[Result]:
    """Yield each site that moves next to nothing by reported step, or less than others and warns of it."""
    steps = {
        site: [line.event.trained / (line.event.weight or 1.0) for line in lines if line.event.trained]
        for site, lines in group_by_site(run).items()
    }
    paces = {site: median(found) for site, found in steps.items() if found}
    warned = {site: _warnings(run, site) for site in paces}
    for site, pace in paces.items():
        others = [name for name in paces if name != site]
        own = [text for text in warned[site] if not any(warned[name][text] for name in others)]
        text = max(own, key=warned[site].__getitem__, default="")
        share = pace / (median(paces[name] for name in others) or 1.0) if others else 1.0
        if share < _STANDS and len(steps[site]) > 1:
            yield unknown(
                f"{site} moved {share:.2g} times as far as the others for each step: nothing shows that it "
                "trained, and did not merely add noise."
            )
        if warned[site][text] > len(steps[site]) and share < _SLOW:
            warning = f"{site} warned {warned[site][text]} times ({text[:200]})"
            yield unknown(
                f"{warning}, and moved {share:.2g} times as far as the others by each step that it reported: "
                "it may have left data out."
            )


def _warnings(run: Run, site: str) -> Counter[str]:
    """Return how often a site's log has each warning, without its figures."""
    texts = (record.message for record in run.logs.records(site) if record.level == "WARNING")
    return Counter(re.sub(r"\d+", "…", text) for text in texts)


def _trainers(run: Run) -> set[str]:
    """Return the sites that train: some may aggregate alone, never be chosen, or always answer too late."""
    trains = {site.name for site in run.spec.sites}
    tasks = {line.event.task for line in run.training.results}
    for flow in run.account.flows:
        trains.intersection_update(list_trainers(run.workspace, flow, sorted(trains), tasks))
        if flow.count_sampled(len(run.account.sites)) < len(run.account.sites):
            trains.intersection_update(task.site for task in run.account.tasks)
        if flow.leaves_late(len(run.account.sites)):
            counted = {task.site for task in run.account.tasks if task.came}
            trains -= {task.site for task in run.account.tasks if task.late} - counted
    return trains


def _silent_sites(run: Run) -> Iterator[Result]:
    if run.results and not run.training.results and not any(map(_has_model, run.results)):
        message = (
            "No site sent a model: where none has to be trained, leave every_site_trained out of job.yml's "
            "proof, and global_model_saved if the server has none."
        )
        yield unknown(message, run.results[-1])
    elif silent := sorted(_trainers(run) - {line.event.site for line in run.training.results}):
        announced = ", ".join(read_sites(run.workspace)) or "none"
        yield unknown(f"The server had no training result of {silent[0]}; the job announced {announced}.")


def _has_model(line: EvidenceLine[TaskEvent]) -> bool:
    return line.event.kind != "METRICS" and line.event.bytes > 0


def _recording(run: Run) -> set[tuple[str, int]]:
    """Return the ranks that record anything."""
    lines = [*run.find(DeviceEvent), *run.find(RoundEvent)]
    return {(line.event.site, line.event.rank) for line in lines}


def _why(run: Run, done: list[int]) -> str:
    """Return what a rank's rounds say of the run, if anything."""
    if len({*done}) < len(done):
        return " Two runs wrote this evidence, or the rank was started twice."
    if not run.account.ended:
        return " The server's log stops before the run's end: the server was killed or died."
    return ""


def _untrained_ranks(run: Run) -> Iterator[Result]:
    """Yield each rank that left a round out, did not train in one, or differs from the site's others."""
    may_stop = any(flow.may_stop for flow in run.account.flows)
    sent: dict[tuple[str, int], str] = {}
    for site, rank in (who for who in run.ranks.all if who in _recording(run)):
        lines, who = run.ranks.rounds(site, rank), f"{site} rank {rank}"
        done = [line.event.round for line in lines]
        wanted = list(range(len(done) if done and may_stop else run.spec.job.rounds))
        if done != wanted:
            message = f"{who} trained rounds {done}, not {wanted}.{_why(run, done)}"
            yield fails(message, lines[-1] if lines else None)
        for line in lines:
            event = line.event
            if event.samples < 1 or event.model_in == event.model_out:
                changed = "unchanged" if event.model_in == event.model_out else "changed"
                loss = ", its loss not finite" if None in event.losses else ""
                message = (
                    f"{who} ended round {event.round} after {event.samples} samples "
                    f"with its weights {changed}{loss}."
                )
                yield fails(message, line)
            if event.model_out != sent.setdefault((site, event.round), event.model_out):
                message = f"{who} ended round {event.round} with other weights than the ranks before it."
                yield fails(message, line)


def _silent_ranks(run: Run) -> Iterator[Result]:
    recording = _recording(run)
    for site, rank in run.ranks.all if recording else ():
        if (site, rank) not in recording:
            yield unknown(f"{site} rank {rank} left no evidence.")
