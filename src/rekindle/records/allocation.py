# SPDX-License-Identifier: Apache-2.0
"""What a host's runs ask a batch system for, as an inventory has it, and what its cluster is."""

import re
from typing import Annotated

from msgspec import Meta

from .base import Few, Integer, Record, Room, Text

_Word = Annotated[str, Meta(pattern=r"^[^\s,]+\Z", max_length=255)]
_Time = Annotated[str, Meta(pattern=r"^(?:\d{1,3}-)?\d{1,3}:[0-5]\d:[0-5]\d\Z", max_length=16)]


class Allocation(Record, kw_only=True, frozen=True):
    """Nodes for some time."""

    room: Room
    """The room of this package that knows the batch system."""
    partition: _Word
    nodes: Annotated[int, Meta(ge=1, le=1_000)] = 1
    gpus_per_node: Annotated[int, Meta(ge=0, le=1_000)] = 0
    time: _Time
    """``hours:minutes:seconds``, also after ``days-``."""
    account: _Word | None = None
    extra: Few[Annotated[str, Meta(pattern=r"^-\S+\Z", max_length=255)]] = ()

    @property
    def setting(self) -> str:
        """The setting that asks for it."""
        return f"rekindle_{self.room}"

    @property
    def time_s(self) -> int:
        """Seconds of ``time``."""
        return parse_limit(self.time) or 0


def parse_limit(limit: str) -> int | None:
    """Return the seconds of ``1-00:00:00`` or ``30:00``; None if it is not a time."""
    match = re.fullmatch(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d\d)", limit)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


class NodeGroup(Record, kw_only=True, frozen=True):
    """Nodes of a partition that its batch system reports together."""

    partition: Text
    nodes: Text
    count: Integer
    state: Text
    """``idle``, ``mixed``, ``drained``, ``down*`` …"""
    why: Text | None = None
    cpus: Integer
    memory_mib: Integer
    gres: Text | None = None
    features: Text | None = None
    time_limit: Text
    up: bool
    """Whether the partition starts jobs."""


class Cluster(Record, kw_only=True, frozen=True):
    """What a batch system reports on a login node."""

    groups: Few[NodeGroup]
    limits: Few[Text] = ()
    """Of the user's accounts and their QOS, a line each; none without accounting."""
