# SPDX-License-Identifier: Apache-2.0
"""What is wrong with, or unknown of, a host or one of its GPUs."""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from rekindle.gpus import xids
from rekindle.records import AcceptanceRecord, Measurement
from rekindle.records.action import Action, pick_severest
from rekindle.records.text import shorten_text

from .catalogue import find_action, find_remedy
from .comparison import cover_pairs
from .evaluation import describe_reading, label_gpu

Grave = Literal["FAIL", "UNPROVEN"]


class Flaw(msgspec.Struct, kw_only=True, frozen=True):
    """One of them."""

    host: str
    gpu: int | None
    """Index; None: the host, or all its GPUs together."""
    uuid: str | None
    measurement: str
    verdict: Grave | None = "FAIL"
    """None: it is noted, and changes nothing."""
    worse: float | None
    """Relative to what it is compared with: 0.1 is 10 %."""
    message: str
    remedy: str
    action: Action
    """What it asks the host's operator for."""

    def of_verdict(self, verdict: Grave | None, message: str | None = None) -> "Flaw":
        """Return it with another verdict, and its action: RETEST where it is not known, else NONE."""
        mild: dict[str | None, Action] = {"UNPROVEN": "RETEST", None: "NONE"}
        action = mild.get(verdict, self.action)
        return replace(self, verdict=verdict, action=action, message=message or self.message)


def make_flaw(
    record: AcceptanceRecord, name: str, uuid: str | None, message: str, worse: float | None = None
) -> Flaw:
    """Return a failure of the measurement ``name`` of a GPU or the host."""
    return Flaw(
        host=record.host,
        gpu=next((gpu.index for gpu in record.gpus if gpu.uuid == uuid), None),
        uuid=uuid,
        measurement=name,
        worse=worse,
        message=shorten_text(message),
        remedy=find_remedy(name),
        action=_action(record, name, uuid),
    )


def _action(record: AcceptanceRecord, name: str, uuid: str | None) -> Action:
    """Return a failure's action, which Xids have by their codes."""
    figures = record.measurements if name == "xids" else ()
    codes = {
        int(of) for figure in figures if (figure.name, figure.gpu) == (name, uuid) for of in figure.series
    }
    return pick_severest(map(xids.find_xid_action, codes)) if codes else find_action(name)


def find_pair_flaws(
    record: AcceptanceRecord, slow_pairs: list[tuple[Measurement, float]], than: str
) -> Iterator[Flaw]:
    """Yield a failure for each GPU that slow pairs share.

    Args:
        record: of the host.
        slow_pairs: figures of pairs under one name, and how much worse each is; none or more.
        than: what they are worse than.
    """
    by_pair = {(slow.gpu or "", slow.peer or ""): (slow, worse) for slow, worse in slow_pairs}
    for uuid, pairs in cover_pairs(by_pair).items():
        measurement, worse = max((by_pair[pair] for pair in pairs), key=lambda slow: slow[1])
        peers = {peer for pair in pairs for peer in pair if peer != uuid}
        message = f"{describe_reading(record, measurement)}, {than}"
        if len(pairs) > 1:
            label = label_gpu(record, uuid)
            message += f"; so are {len(pairs)} directions between {label} and {len(peers)} others"
        yield make_flaw(record, measurement.name, uuid, f"{message}.", worse)
