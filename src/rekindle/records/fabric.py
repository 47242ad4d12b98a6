# SPDX-License-Identifier: Apache-2.0
"""``fabric.json``: what was measured between hosts, in its order."""

from typing import Annotated, Literal

from msgspec import Meta

from .acceptance import Norms
from .base import Few, Integer, Many, Record, Seconds, Table, Text, Timestamp

FABRIC = "fabric"
"""The name under which a host's verdict on it stands beside those of its jobs."""

Amount = Annotated[float, Meta(ge=0, le=1e12)]


class Bandwidth(Record, kw_only=True, frozen=True):
    """Bus bandwidth of one collective at one size, as a tenth of the operations have it.

    The rest is delayed by a CPU that others use, which is no fault of a link.
    """

    op: Literal["all_reduce", "all_gather"]
    size: Integer
    """Bytes that each rank has at the end."""
    gb_s: Amount
    """10^9 bytes a second, as nccl-tests count them: a link's own rate, whatever the number of ranks."""


class FabricLook(Record, kw_only=True, frozen=True):
    """One measurement of some hosts together."""

    hosts: Few[Text]
    outcome: Literal["measured", "hung", "failed"]
    message: Text = ""
    """Why it failed, or where it hung."""
    wrong: Integer = 0
    """Values that are not what they have to be, bit by bit; the most that any rank saw."""
    latency_us: Amount | None = None
    """Of an all-reduce of 8 bytes, as a tenth of them do it."""
    bandwidths: Annotated[tuple[Bandwidth, ...], Meta(max_length=40)] = ()
    resent: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Share of TCP's segments that a host sent twice, the largest of these hosts."""
    transports: Annotated[tuple[Text, ...], Meta(max_length=20)] = ()
    """``InfiniBand with GPUDirect RDMA``, ``TCP``, …"""
    devices: Annotated[tuple[Text, ...], Meta(max_length=100)] = ()
    """``mlx5_0``, ``eth0``, …: what it went through, by any host."""

    @property
    def is_pair(self) -> bool:
        """Whether it is of two hosts."""
        return len(self.hosts) == 2


class Port(Record, kw_only=True, frozen=True):
    """A host's InfiniBand or Ethernet port, at the end of the measurement."""

    name: Text
    state: Text
    gbit_s: Amount | None
    grew: Table[Integer] = {}
    """Its counters of errors and flaps, by as much as they grew meanwhile."""


Ports = Annotated[tuple[Port, ...], Meta(max_length=64)]


class FabricRecord(Record, kw_only=True, frozen=True):
    """The fabric of some hosts."""

    schema: Literal["rekindle/fabric/1"] = "rekindle/fabric/1"
    host: Text | None = None
    """In whose allocation ``hosts`` are the nodes; None: they are those of the inventory."""
    hosts: Few[Text]
    started: Timestamp
    seconds: Seconds
    silent: Table[Text] = {}
    """Hosts that gave no answer, with what they did not answer."""
    norms: Norms | None = None
    """The inventory's."""
    ports: Table[Ports] = {}
    """By host."""
    looks: Many[FabricLook] = ()
