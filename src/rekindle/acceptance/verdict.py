"""The verdict on one host's acceptance, and which of its GPUs are to be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import msgspec
from msgspec.structs import replace

from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.base import shortened

from .catalogue import Fault, Measure, measures, norm_of, possible, remedy
from .flaw import Flaw, flaw, of_pairs
from .held import NOTE, beside, figure, gpu, where

_RANK: dict[str, int] = {fault: rank for rank, fault in enumerate(get_args(Fault))}
_Of = tuple[str | None, str | None]
"""UUIDs of a GPU and of its peer."""
_ALONE = "Accept a second host of its kind with it, or put a norm with its source into acceptance/norms.json."


class Judgement(msgspec.Struct, kw_only=True, frozen=True):
    """What acceptance says of a host."""

    host: str
    verdict: Literal["PASS", "FAIL", "UNPROVEN"]
    cause: str | None
    remedy: str | None
    flaws: tuple[Flaw, ...]
    """The worst first."""


def judged(record: AcceptanceRecord, outside: Iterable[Flaw] = (), compared: bool = False) -> Judgement:
    """Return the verdict.

    Args:
        record: as `held` returns it.
        outside: what the fleet and the past say of this host.
        compared: whether its speed was compared with other hosts of its kind.
    """
    flaws: dict[tuple[str, str | None], Flaw] = {}
    for one in (*_broken(record), *_noted(record), *outside, *_untold(record, compared)):
        known = flaws.get((one.measurement, one.uuid))
        if known is None or (known.verdict != "FAIL" and one.verdict == "FAIL"):
            flaws[one.measurement, one.uuid] = one
    found = sorted(flaws.values(), key=_weight)
    grave = [one for one in found if one.verdict]
    if not grave:
        return Judgement(host=record.host, verdict="PASS", cause=None, remedy=None, flaws=tuple(found))
    first = grave[0]
    more = f" (and {len(grave) - 1} more)" if grave[1:] else ""
    return Judgement(
        host=record.host,
        verdict=first.verdict or "UNPROVEN",
        cause=shortened(f"{first.says.removesuffix('.')}{more}."),
        remedy=first.remedy,
        flaws=tuple(found),
    )


def failed_gpus(record: AcceptanceRecord) -> frozenset[str]:
    """Return the UUIDs of the GPUs that fail by what is said of their host alone, which `held` returns.

    What fails and is not one GPU's (the fabric manager, a collective operation) is all of theirs.
    """
    failed = [one.uuid for one in judged(record).flaws if one.verdict == "FAIL"]
    if None in failed:
        return frozenset(one.uuid for one in record.gpus)
    return frozenset(uuid for uuid in failed if uuid is not None)


def _weight(one: Flaw) -> tuple[int, int, float]:
    """Return what to sort by: what fails before what cannot be told, wrong results before slow ones."""
    grave = {"FAIL": 0, "UNPROVEN": 1}.get(one.verdict or "", 2)
    return grave, _RANK[measures()[one.measurement].fault], -(one.worse or 0.0)


def _broken(record: AcceptanceRecord) -> Iterator[Flaw]:
    """Yield what does not hold; pairs of GPUs by the GPU that they share."""
    pairs: dict[tuple[str, int | None], list[tuple[Measurement, float]]] = {}
    near = beside(record)
    for place, one in enumerate(record.measurements):
        if one.holds is not False or one.name not in measures() or one.value is None:
            continue
        measure = measures()[one.name]
        worse = max(
            measure.worse(one.value, one.norm) if one.norm else 0.0, near[place][0] if place in near else 0.0
        )
        if measure.of == "pair":
            pairs.setdefault((one.name, one.size), []).append((one, worse))
            continue
        found = flaw(record, one.name, one.gpu, _sentence(one), worse)
        yield replace(found, verdict="UNPROVEN") if measure.fault == "coverage" else found
    for slow in pairs.values():
        norm = slow[0][0].norm
        than = f"and the norm is at least {norm:.4g}" if norm else "far from the host's other pairs"
        yield from of_pairs(record, slow, than)


def _noted(record: AcceptanceRecord) -> Iterator[Flaw]:
    """Yield what holds, and is worth a word."""
    for one in record.measurements:
        norm = norm_of(one, record.kind) if one.holds else None
        if norm and norm.said is not None and measures()[one.name].worse(one.value or 0.0, norm.said) > 0:
            yield replace(flaw(record, one.name, one.gpu, _sentence(one)), verdict=None)


def _sentence(one: Measurement) -> str:
    """Return what is said of it, without the norm's source and the host's own words."""
    return one.says.partition(NOTE)[0].replace(f" ({one.source})", "")


def _untold(record: AcceptanceRecord, compared: bool) -> Iterator[Flaw]:
    """Yield what has to be measured and was not, and speed for which there is no measure."""
    uuids = {one.uuid for one in record.gpus}
    if not record.gpus or not record.kind.count == len(record.gpus) == len(uuids):
        says = f"{record.kind.count} GPUs were to be measured, and {len(uuids)} were."
        yield _unproven(record, "memory_tested", None, says)
    model, models = record.kind.model, " + ".join(sorted({one.name for one in record.gpus}))
    if record.gpus and model != models:
        says = f"It was measured as {shortened(model, 200)}, and its GPUs are {shortened(models, 200)}."
        yield _unproven(record, "memory_tested", None, says)
    for one in record.measurements:
        if not possible(one):
            yield _unproven(
                record, one.name, one.gpu, f"{where(record, one)}: {figure(one)}, which cannot be."
            )
    taken: dict[str, list[Measurement]] = {}
    for one in record.measurements:
        taken.setdefault(one.name, []).append(one)
    for name, measure in measures().items():
        yield from _missing(record, name, measure, taken.get(name, []))
    if record.gpus and not compared and not _fast(record):
        kind = f"{record.kind.count} × {shortened(record.kind.model, 200)}"
        says = f"No norm is known for {kind}, nor was it compared with another: its speed cannot be told."
        yield replace(_unproven(record, "fp16_matmul", None, says), remedy=_ALONE)


def _unproven(record: AcceptanceRecord, name: str, uuid: str | None, says: str) -> Flaw:
    return replace(flaw(record, name, uuid, says), verdict="UNPROVEN", remedy=remedy("memory_tested"))


def _missing(
    record: AcceptanceRecord, name: str, measure: Measure, taken: list[Measurement]
) -> Iterator[Flaw]:
    why = {(one.gpu, one.peer): one.says for one in taken if one.value is None}
    have = Counter((one.gpu, one.peer, one.size) for one in taken if one.value is not None)
    each: dict[int | None, int] = {}
    for (_, _, size), count in have.items():
        each[size] = max(count, each.get(size, 0))
    lacking = [
        (one, peer)
        for one, peer in _needed(record, measure, {uuid for uuid, _, _ in have})
        if any(have[one, peer, size] < count for size, count in (each or {None: 1}).items())
    ]
    for uuid in dict.fromkeys(one[0] for one in lacking):
        reason = next((why[one] for one in lacking if one[0] == uuid and why.get(one)), "nobody said why.")
        of = gpu(record, uuid) if uuid else "The host"
        yield _unproven(record, name, uuid, f"{of}: {name} was not measured: {reason}")


def _needed(record: AcceptanceRecord, measure: Measure, have: set[str | None]) -> list[_Of]:
    """Return the GPUs, pairs, or None for the host, that need a measurement which the GPUs ``have``."""
    if measure.of == "gpu" and measure.required is None:
        models = {one.uuid: one.name for one in record.gpus}
        known = {models.get(uuid or "") for uuid in have}
        return [(uuid, None) for uuid, model in models.items() if model in known]
    several = {"several"} if len(record.gpus) > 1 else set()
    if measure.required not in {"always", record.mode, *several}:
        return []
    uuids: list[str | None] = [one.uuid for one in record.gpus]
    if measure.of == "pair":
        return [(one, other) for one in uuids for other in uuids if one != other]
    return [(one, None) for one in (uuids if measure.of == "gpu" else [None])]


def _fast(record: AcceptanceRecord) -> bool:
    """Whether matrix products of every GPU were held against a norm; one that fails is told elsewhere."""
    held = {one.gpu for one in record.measurements if "_matmul" in one.name and one.norm is not None}
    return held >= {one.uuid for one in record.gpus}
