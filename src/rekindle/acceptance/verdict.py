# SPDX-License-Identifier: Apache-2.0
"""The verdict on one host's acceptance, and its GPUs to leave out."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import msgspec
from msgspec.structs import replace

from rekindle.host.instances import is_instance
from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.action import Action, pick_severest
from rekindle.records.text import shorten_text

from .catalogue import Fault, Measure, find_norm, find_remedy, is_possible, load_measures
from .evaluation import NOTE, compare_within_host, describe_reading, format_figure, label_gpu
from .flaw import Flaw, find_pair_flaws, make_flaw
from .looks import LookOutcome, describe_neighbours, find_doubtful, find_outcome

_RANK: dict[str, int] = {fault: rank for rank, fault in enumerate(get_args(Fault))}
_GRAVITY = {"FAIL": 0, "UNPROVEN": 1, None: 2}
_Of = tuple[str | None, str | None]
_ALONE = "Accept a second host of its kind with it, or name norms of its model in rekindle_norms."


class Judgement(msgspec.Struct, kw_only=True, frozen=True):
    """The verdict of acceptance on a host."""

    host: str
    verdict: Literal["PASS", "FAIL", "UNPROVEN"]
    cause: str | None
    remedy: str | None
    flaws: tuple[Flaw, ...]
    """The worst first."""
    action: Action = "NONE"
    """The most severe of its flaws'."""

    @property
    def unsteady(self) -> bool:
        """Whether it is UNPROVEN only by figures that vary from look to look."""
        grave = [flaw for flaw in self.flaws if flaw.verdict]
        return self.verdict == "UNPROVEN" and all(load_measures()[flaw.measurement].varies for flaw in grave)


def judge_acceptance(
    record: AcceptanceRecord, outside: Iterable[Flaw] = (), compared: bool = False
) -> Judgement:
    """Return the verdict.

    Args:
        record: as `evaluated` returns it.
        outside: flaws by comparison with the fleet and the past.
        compared: whether its speed was compared with other hosts of its kind.
    """
    flaws: dict[tuple[str, str | None], Flaw] = {}
    found = (*_broken(record), *_noted(record), *outside, *_unmeasured(record, compared))
    once = find_doubtful(record)
    for flaw in (_doubted(flaw) if (flaw.measurement, flaw.uuid) in once else flaw for flaw in found):
        known = flaws.get((flaw.measurement, flaw.uuid))
        if known is None or _GRAVITY[flaw.verdict] < _GRAVITY[known.verdict]:
            flaws[flaw.measurement, flaw.uuid] = flaw
    return judge_host(record.host, flaws.values())


def judge_host(host: str, flaws: Iterable[Flaw]) -> Judgement:
    """Return the verdict on a host that has these flaws."""
    ordered = _beside_others(sorted(flaws, key=_weight))
    grave = [flaw for flaw in ordered if flaw.verdict]
    if not grave:
        return Judgement(host=host, verdict="PASS", cause=None, remedy=None, flaws=tuple(ordered))
    first = grave[0]
    more = f" (and {len(grave) - 1} more)" if grave[1:] else ""
    return Judgement(
        host=host,
        verdict=first.verdict or "UNPROVEN",
        cause=shorten_text(f"{first.message.removesuffix('.')}{more}."),
        remedy=first.remedy,
        action=pick_severest(flaw.action for flaw in ordered),
        flaws=tuple(ordered),
    )


def find_failed_gpus(record: AcceptanceRecord) -> frozenset[str]:
    """Return the UUIDs of the GPUs that fail in a record that `evaluated` returned.

    Failures that are not one GPU's (the fabric manager, a collective operation) are all GPUs'.
    """
    failed = [flaw.uuid for flaw in judge_acceptance(record).flaws if flaw.verdict == "FAIL"]
    if None in failed:
        return frozenset(gpu.uuid for gpu in record.gpus)
    return frozenset(uuid for uuid in failed if uuid is not None)


def is_only_slow(record: AcceptanceRecord) -> bool:
    """Whether a host fails by speed alone: not by a wrong result, its memory, ECC or an Xid."""
    failed = [flaw.measurement for flaw in judge_acceptance(record).flaws if flaw.verdict == "FAIL"]
    return bool(failed) and not any(load_measures()[name].gates for name in failed)


def _beside_others(flaws: list[Flaw]) -> list[Flaw]:
    """Return the flaws; where others use the host's GPUs, what is slow is measured again without them."""
    faults = [load_measures()[flaw.measurement].fault if flaw.verdict == "FAIL" else None for flaw in flaws]
    if "occupied" not in faults:
        return flaws
    return [
        replace(flaw, action="RETEST") if fault == "speed" else flaw
        for flaw, fault in zip(flaws, faults, strict=True)
    ]


def _doubted(flaw: Flaw) -> Flaw:
    """Return a failure of one look, which neighbours may have caused, as UNPROVEN."""
    if flaw.verdict != "FAIL":
        return flaw
    once = "it was measured once, and copies over PCIe vary"
    message = f"{flaw.message.removesuffix('.')}; {once}."
    return flaw.of_verdict("UNPROVEN", shorten_text(message))


def _weight(flaw: Flaw) -> tuple[int, int, float]:
    return _GRAVITY[flaw.verdict], _RANK[load_measures()[flaw.measurement].fault], -(flaw.worse or 0.0)


def _broken(record: AcceptanceRecord) -> Iterator[Flaw]:
    pairs: dict[tuple[str, int | None, LookOutcome], list[tuple[Measurement, float]]] = {}
    near, meanwhile = compare_within_host(record), describe_neighbours(record)
    for place, measurement in enumerate(record.measurements):
        found = find_outcome(measurement)
        if found is None or measurement.value is None:
            continue
        measure = load_measures()[measurement.name]
        worse = max(
            measure.worse(measurement.value, measurement.norm) if measurement.norm else 0.0,
            near[place][0] if place in near else 0.0,
        )
        if measure.of == "pair":
            pairs.setdefault((measurement.name, measurement.size, found), []).append((measurement, worse))
            continue
        message = f"{_sentence(measurement).removesuffix('.')}{found.message}."
        message += meanwhile.get(measurement.gpu, "") if measurement.again else ""
        broken = make_flaw(record, measurement.name, measurement.gpu, message, worse)
        yield broken.of_verdict("UNPROVEN" if measure.fault == "coverage" else found.verdict)
    for (_, _, found), slow in pairs.items():
        norm = slow[0][0].norm
        than = (
            f"and the norm is at least {format_figure(norm)}" if norm else "far from the host's other pairs"
        )
        for flaw in find_pair_flaws(record, slow, than + found.message):
            yield flaw.of_verdict(found.verdict)


def _noted(record: AcceptanceRecord) -> Iterator[Flaw]:
    for measurement in record.measurements:
        norm = find_norm(measurement, record.kind, record.norms) if measurement.holds else None
        value = measurement.value or 0.0
        if norm and norm.noted is not None and load_measures()[measurement.name].worse(value, norm.noted) > 0:
            noted = make_flaw(record, measurement.name, measurement.gpu, _sentence(measurement))
            yield noted.of_verdict(None)


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
        message = (
            f"It was measured as {shorten_text(model, 200)}, and its GPUs are {shorten_text(models, 200)}."
        )
        yield _unproven(record, "memory_tested", None, message)
    for measurement in record.measurements:
        if not is_possible(measurement):
            message = f"{describe_reading(record, measurement)}, which cannot be."
            yield _unproven(record, measurement.name, measurement.gpu, message)
    taken: dict[str, list[Measurement]] = {}
    for measurement in record.measurements:
        taken.setdefault(measurement.name, []).append(measurement)
    for name, measure in load_measures().items():
        yield from _missing(record, name, measure, taken.get(name, []))
    if record.gpus and not compared and not _has_speed_norm(record):
        kind = f"{record.kind.count} × {shorten_text(record.kind.model, 200)}"
        message = f"No norm is known for {kind}, nor was it compared with another: its speed is unknown."
        yield replace(_unproven(record, "fp16_matmul", None, message), remedy=_ALONE)


def _unproven(record: AcceptanceRecord, name: str, uuid: str | None, message: str) -> Flaw:
    unknown = make_flaw(record, name, uuid, message).of_verdict("UNPROVEN")
    return replace(unknown, remedy=find_remedy("memory_tested"))


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
        of = label_gpu(record, uuid) if uuid else "The host"
        yield _unproven(record, name, uuid, f"{of}: {name} was not measured: {reason}")


def _needed(record: AcceptanceRecord, measure: Measure, have: set[str | None]) -> list[_Of]:
    """Return the GPUs, pairs, or None for the host, that need a measurement."""
    if measure.of == "gpu" and measure.required is None:
        models = {gpu.uuid: gpu.name for gpu in record.gpus}
        known = {models.get(uuid or "") for uuid in have}
        return [(uuid, None) for uuid, model in models.items() if model in known]
    joined = len(record.gpus) > 1 and not any(is_instance(gpu.uuid) for gpu in record.gpus)
    several = {"several"} if joined else set()
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
