# SPDX-License-Identifier: Apache-2.0
"""The verdict on one host's acceptance, and its GPUs to leave out."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import msgspec
from msgspec.structs import replace

from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.text import shortened

from .catalogue import Fault, Measure, measures, norm_of, possible, remedy
from .evaluate import NOTE, beside, gpu_label, reading, rounded
from .flaw import Flaw, flaw_of, flaws_of_pairs
from .looks import Outcome, others, outcome, seen_once

_RANK: dict[str, int] = {fault: rank for rank, fault in enumerate(get_args(Fault))}
_GRAVITY = {"FAIL": 0, "UNPROVEN": 1, None: 2}
_Of = tuple[str | None, str | None]
_ALONE = "Accept a second host of its kind with it, or put a norm with its source into acceptance/norms.json."


class Judgement(msgspec.Struct, kw_only=True, frozen=True):
    """The verdict of acceptance on a host."""

    host: str
    verdict: Literal["PASS", "FAIL", "UNPROVEN"]
    cause: str | None
    remedy: str | None
    flaws: tuple[Flaw, ...]
    """The worst first."""

    @property
    def unsteady(self) -> bool:
        """Whether it is UNPROVEN only by figures that vary from look to look."""
        grave = [flaw for flaw in self.flaws if flaw.verdict]
        return self.verdict == "UNPROVEN" and all(measures()[flaw.measurement].varies for flaw in grave)


def judged(record: AcceptanceRecord, outside: Iterable[Flaw] = (), compared: bool = False) -> Judgement:
    """Return the verdict.

    Args:
        record: as `evaluated` returns it.
        outside: flaws by comparison with the fleet and the past.
        compared: whether its speed was compared with other hosts of its kind.
    """
    flaws: dict[tuple[str, str | None], Flaw] = {}
    found = (*_broken(record), *_noted(record), *outside, *_unmeasured(record, compared))
    once = seen_once(record)
    for flaw in (_doubted(flaw) if (flaw.measurement, flaw.uuid) in once else flaw for flaw in found):
        known = flaws.get((flaw.measurement, flaw.uuid))
        if known is None or _GRAVITY[flaw.verdict] < _GRAVITY[known.verdict]:
            flaws[flaw.measurement, flaw.uuid] = flaw
    ordered = sorted(flaws.values(), key=_weight)
    grave = [flaw for flaw in ordered if flaw.verdict]
    if not grave:
        return Judgement(host=record.host, verdict="PASS", cause=None, remedy=None, flaws=tuple(ordered))
    first = grave[0]
    more = f" (and {len(grave) - 1} more)" if grave[1:] else ""
    return Judgement(
        host=record.host,
        verdict=first.verdict or "UNPROVEN",
        cause=shortened(f"{first.message.removesuffix('.')}{more}."),
        remedy=first.remedy,
        flaws=tuple(ordered),
    )


def failed_gpus(record: AcceptanceRecord) -> frozenset[str]:
    """Return the UUIDs of the GPUs that fail in a record that `evaluated` returned.

    Failures that are not one GPU's (the fabric manager, a collective operation) are all GPUs'.
    """
    failed = [flaw.uuid for flaw in judged(record).flaws if flaw.verdict == "FAIL"]
    if None in failed:
        return frozenset(gpu.uuid for gpu in record.gpus)
    return frozenset(uuid for uuid in failed if uuid is not None)


def only_slow(record: AcceptanceRecord) -> bool:
    """Whether a host fails by speed alone: not by a wrong result, its memory, ECC or an Xid."""
    failed = [flaw.measurement for flaw in judged(record).flaws if flaw.verdict == "FAIL"]
    return bool(failed) and not any(measures()[name].gates for name in failed)


def _doubted(flaw: Flaw) -> Flaw:
    """Return a failure of one look, which neighbours may have caused, as UNPROVEN."""
    if flaw.verdict != "FAIL":
        return flaw
    once = "it was measured once, and copies over PCIe vary"
    message = f"{flaw.message.removesuffix('.')}; {once}."
    return replace(flaw, verdict="UNPROVEN", message=shortened(message))


def _weight(flaw: Flaw) -> tuple[int, int, float]:
    return _GRAVITY[flaw.verdict], _RANK[measures()[flaw.measurement].fault], -(flaw.worse or 0.0)


def _broken(record: AcceptanceRecord) -> Iterator[Flaw]:
    pairs: dict[tuple[str, int | None, Outcome], list[tuple[Measurement, float]]] = {}
    near, meanwhile = beside(record), others(record)
    for place, measurement in enumerate(record.measurements):
        found = outcome(measurement)
        if found is None or measurement.value is None:
            continue
        measure = measures()[measurement.name]
        worse = max(
            measure.worse(measurement.value, measurement.norm) if measurement.norm else 0.0,
            near[place][0] if place in near else 0.0,
        )
        if measure.of == "pair":
            pairs.setdefault((measurement.name, measurement.size, found), []).append((measurement, worse))
            continue
        message = f"{_sentence(measurement).removesuffix('.')}{found.message}."
        message += meanwhile.get(measurement.gpu, "") if measurement.again else ""
        broken = flaw_of(record, measurement.name, measurement.gpu, message, worse)
        yield replace(broken, verdict="UNPROVEN" if measure.fault == "coverage" else found.verdict)
    for (_, _, found), slow in pairs.items():
        norm = slow[0][0].norm
        than = f"and the norm is at least {rounded(norm)}" if norm else "far from the host's other pairs"
        for flaw in flaws_of_pairs(record, slow, than + found.message):
            yield replace(flaw, verdict=found.verdict)


def _noted(record: AcceptanceRecord) -> Iterator[Flaw]:
    for measurement in record.measurements:
        norm = norm_of(measurement, record.kind) if measurement.holds else None
        value = measurement.value or 0.0
        if norm and norm.noted is not None and measures()[measurement.name].worse(value, norm.noted) > 0:
            noted = flaw_of(record, measurement.name, measurement.gpu, _sentence(measurement))
            yield replace(noted, verdict=None)


def _sentence(measurement: Measurement) -> str:
    """Return its sentence without the norm's source and the host's note."""
    return measurement.message.partition(NOTE)[0].replace(f" ({measurement.source})", "")


def _unmeasured(record: AcceptanceRecord, compared: bool) -> Iterator[Flaw]:
    uuids = {gpu.uuid for gpu in record.gpus}
    if not record.gpus or not record.kind.count == len(record.gpus) == len(uuids):
        message = f"{record.kind.count} GPUs were to be measured, and {len(uuids)} were."
        yield _unproven(record, "memory_tested", None, message)
    model, models = record.kind.model, " + ".join(sorted({gpu.name for gpu in record.gpus}))
    if record.gpus and model != models:
        message = f"It was measured as {shortened(model, 200)}, and its GPUs are {shortened(models, 200)}."
        yield _unproven(record, "memory_tested", None, message)
    for measurement in record.measurements:
        if not possible(measurement):
            message = f"{reading(record, measurement)}, which cannot be."
            yield _unproven(record, measurement.name, measurement.gpu, message)
    taken: dict[str, list[Measurement]] = {}
    for measurement in record.measurements:
        taken.setdefault(measurement.name, []).append(measurement)
    for name, measure in measures().items():
        yield from _missing(record, name, measure, taken.get(name, []))
    if record.gpus and not compared and not _has_speed_norm(record):
        kind = f"{record.kind.count} × {shortened(record.kind.model, 200)}"
        message = f"No norm is known for {kind}, nor was it compared with another: its speed is unknown."
        yield replace(_unproven(record, "fp16_matmul", None, message), remedy=_ALONE)


def _unproven(record: AcceptanceRecord, name: str, uuid: str | None, message: str) -> Flaw:
    return replace(flaw_of(record, name, uuid, message), verdict="UNPROVEN", remedy=remedy("memory_tested"))


def _missing(
    record: AcceptanceRecord, name: str, measure: Measure, taken: list[Measurement]
) -> Iterator[Flaw]:
    why: dict[_Of, str] = {}
    have: Counter[tuple[str | None, str | None, int | None]] = Counter()
    for figure in taken:
        if figure.value is None:
            why[figure.gpu, figure.peer] = figure.message
        else:
            have[figure.gpu, figure.peer, figure.size] += 1
    counts: dict[int | None, int] = {}
    for (_, _, size), count in have.items():
        counts[size] = max(count, counts.get(size, 0))
    lacking = [
        (gpu, peer)
        for gpu, peer in _needed(record, measure, {uuid for uuid, _, _ in have})
        if any(have[gpu, peer, size] < count for size, count in (counts or {None: 1}).items())
    ]
    for uuid in dict.fromkeys(pair[0] for pair in lacking):
        reasons = (why[pair] for pair in lacking if pair[0] == uuid and why.get(pair))
        reason = next(reasons, "no reason was given.")
        of = gpu_label(record, uuid) if uuid else "The host"
        yield _unproven(record, name, uuid, f"{of}: {name} was not measured: {reason}")


def _needed(record: AcceptanceRecord, measure: Measure, have: set[str | None]) -> list[_Of]:
    """Return the GPUs, pairs, or None for the host, that need a measurement."""
    if measure.of == "gpu" and measure.required is None:
        models = {gpu.uuid: gpu.name for gpu in record.gpus}
        known = {models.get(uuid or "") for uuid in have}
        return [(uuid, None) for uuid, model in models.items() if model in known]
    several = {"several"} if len(record.gpus) > 1 else set()
    if measure.required not in {"always", record.mode, *several}:
        return []
    uuids: list[str | None] = [gpu.uuid for gpu in record.gpus]
    if measure.of == "pair":
        return [(uuid, peer) for uuid in uuids for peer in uuids if uuid != peer]
    return [(uuid, None) for uuid in (uuids if measure.of == "gpu" else [None])]


def _has_speed_norm(record: AcceptanceRecord) -> bool:
    figures = (figure for figure in record.measurements if figure.norm is not None)
    compared = {figure.gpu for figure in figures if "_matmul" in figure.name}
    return compared >= {gpu.uuid for gpu in record.gpus}
