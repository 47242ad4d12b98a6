# SPDX-License-Identifier: Apache-2.0
"""A federation's records: what its stages leave in hosts' folders of results, and on the hosts."""

from typing import Annotated, Literal

from msgspec import Meta

from rekindle.host import folders
from rekindle.records import RecordError, RunMember, RunSpec, allow_decoding, convert_builtins, dump_builtins
from rekindle.records.base import Few, Integer, Record, Seconds, Table, Text, Timestamp
from rekindle.records.layout import make_reader

ROOM = "federation"
Rate = Annotated[float, Meta(ge=1e-6, le=1e15)]


class Bound(Record, kw_only=True, frozen=True):
    """The largest tensor that the links carry."""

    bytes: Integer
    why: Text
    fix: Text


class Way(Record, kw_only=True, frozen=True):
    """What a round's transfers take over a site's link, down and up."""

    site: Text
    byte_s: Seconds
    """Seconds for a byte of the model."""
    request_s: Seconds


@allow_decoding
class Participant(Record, kw_only=True, frozen=True):
    """What a federation knows of a member, beside its name."""

    role: Literal["server", "site"]
    kit: Text
    """Folder of its certificate and settings, on the host."""
    admin: Text | None = None
    """Kit of the user who submits jobs; on the server's host alone."""
    user: Text | None = None
    address: Text
    """Of the server, as sites reach it."""
    port: Integer
    scheme: Text = "tcp"
    """What NVFlare talks over."""
    sites: Few[Text]


@allow_decoding
class Transfers(Record, kw_only=True, frozen=True):
    """What a job's transfers may be, and take."""

    environ: Table[Text] = {}
    """Variables of every NVFlare process and trainer of the federation."""
    bound: Bound | None = None
    ways: Few[Way] = ()
    """Of each site, and of all together where the fastest link is what the server has for them."""


def make_member(
    name: str, min_sites: int, participant: Participant, transfers: Transfers | None = None
) -> RunMember:
    """Return a member of a federation."""
    return RunMember(
        room=ROOM,
        name=name,
        min_sites=min_sites,
        given=dump_builtins(participant),
        measured=dump_builtins(transfers) if transfers else {},
    )


def is_federation(spec: RunSpec) -> bool:
    """Whether a run is a federation's."""
    return spec.member is not None and spec.member.room == ROOM


def read_participant(member: RunMember) -> Participant:
    """Return what a federation knows of a member.

    Raises:
        RecordError: it is no federation's.
    """
    try:
        return convert_builtins(member.given, Participant)
    except RecordError as error:
        message = f"What the run's spec says of its federation does not fit: {error.message}."
        raise RecordError(message, "run the job again.") from None


def read_transfers(member: RunMember) -> Transfers:
    """Return what a federation measured for a member.

    Raises:
        RecordError: it is no federation's.
    """
    return convert_builtins(member.measured, Transfers)


@allow_decoding
class LinkRecord(Record, kw_only=True, frozen=True):
    """The way from a site to its federation's server, as it was measured through TLS."""

    schema: Literal["rekindle/link/1"] = "rekindle/link/1"
    host: Text
    address: Text
    port: Integer
    rtt_s: Annotated[float, Meta(ge=1e-6, le=1e9)]
    down_bit_s: Rate
    """To the site."""
    up_bit_s: Rate
    release: Text
    """Of NVFlare, on both."""
    at: Timestamp


@allow_decoding
class KitRecord(Record, kw_only=True, frozen=True):
    """A host's certificate and settings in a federation."""

    schema: Literal["rekindle/kit/1"] = "rekindle/kit/1"
    host: Text
    role: Literal["server", "site"]
    participant: Text
    """NVFlare's name of it."""
    release: Text
    path: Text
    """Its folder on the host."""
    admin: Text | None = None
    """Folder of the kit of the user who submits jobs; on the server's host alone."""
    user: Text | None = None
    fingerprint: Text
    """SHA-256 of the federation's certificate authority."""
    not_before: Timestamp
    not_after: Timestamp
    address: Text
    """Of the server, as sites reach it."""
    port: Integer
    scheme: Text = "tcp"
    """What NVFlare talks over."""


@allow_decoding
class MemberRecord(Record, kw_only=True, frozen=True):
    """What a host is in a federation; it lies there, beside the kits."""

    schema: Literal["rekindle/member/1"] = "rekindle/member/1"
    python: Text
    """Of the environment that its processes run in."""
    payload: Text
    member: RunMember


link_in = make_reader(folders.LINK_RECORD, LinkRecord)
kit_in = make_reader(folders.KIT_RECORD, KitRecord)
