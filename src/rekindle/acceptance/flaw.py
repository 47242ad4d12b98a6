"""What is wrong with a host or with a GPU of it, or cannot be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.base import shortened

from .catalogue import remedy
from .compare import cover
from .held import figure, gpu, where

Grave = Literal["FAIL", "UNPROVEN"]


class Flaw(msgspec.Struct, kw_only=True, frozen=True):
    """One of them."""

    host: str
    gpu: int | None
    """Index; None: of the host, or of all its GPUs together."""
    uuid: str | None
    measurement: str
    verdict: Grave | None = "FAIL"
    """That it stands for; None: it is said, and changes nothing."""
    worse: float | None
    """Relative to what it is held against: 0.1 is 10 %."""
    says: str
    """One sentence, which names the GPU."""
    remedy: str


def flaw(
    record: AcceptanceRecord, name: str, uuid: str | None, says: str, worse: float | None = None
) -> Flaw:
    """Return a failure of the measurement ``name``, of a GPU by its UUID or of the host."""
    return Flaw(
        host=record.host,
        gpu=next((one.index for one in record.gpus if one.uuid == uuid), None),
        uuid=uuid,
        measurement=name,
        worse=worse,
        says=shortened(says),
        remedy=remedy(name),
    )


def of_pairs(record: AcceptanceRecord, found: list[tuple[Measurement, float]], than: str) -> Iterator[Flaw]:
    """Yield a failure for each GPU that slow pairs have in common.

    Args:
        record: of the host.
        found: figures of pairs under one name, and how much worse each is; none or more.
        than: what they are worse than.
    """
    told = {(one.gpu or "", one.peer or ""): (one, worse) for one, worse in found}
    for uuid, pairs in cover(told).items():
        one, worse = max((told[pair] for pair in pairs), key=lambda each: each[1])
        others = {other for pair in pairs for other in pair if other != uuid}
        says = f"{where(record, one)}: {figure(one)}, {than}"
        if len(pairs) > 1:
            says += f"; so are {len(pairs)} directions between {gpu(record, uuid)} and {len(others)} others"
        yield flaw(record, one.name, uuid, f"{says}.", worse)
