# SPDX-License-Identifier: Apache-2.0
"""What a federation is on its hosts now, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from msgspec.structs import replace

from rekindle.records import (
    Clock,
    Record,
    Timestamp,
    allow_decoding,
    convert_builtins,
    convert_epoch,
    format_time,
)
from rekindle.records.base import Few, Offset, Table, Text, Time
from rekindle.records.text import fold_line

from . import certificates
from .records import MemberRecord, read_participant

_OFF_S = 60.0
"""NVFlare's certificates are valid from the minute on in which they were made."""


class MemberState(Record, kw_only=True, frozen=True):
    """One host of a federation."""

    host: str
    role: str = ""
    """``server`` or ``site``; nothing of a host without a kit."""
    participant: str = ""
    release: str = ""
    """Of NVFlare."""
    not_after: Timestamp | None = None
    authority: str = ""
    """SHA-256 of its certificate authority."""
    modes: tuple[str, ...] = ()
    """Of the files of its keys, octal."""
    clock_s: Offset | None = None
    """Its offset from the controller's."""
    admin: str | None = None
    """Kit on this host of the user who submits jobs."""
    since: Timestamp | None = None
    """Since when it is up, if it is kept up."""
    heard: dict[str, Timestamp] = {}
    """Of a server that is up: each site that is connected, and when it was last heard of."""
    flaws: tuple[str, ...] = ()


@allow_decoding
class _Found(Record, kw_only=True, frozen=True):
    """What `federation.keeper.report_parent` answers on a host."""

    certificate: Text
    authority: Text
    modes: Few[Text]
    release: Text
    since: Time | None
    clients: Table[Time] | None


MEMBERS = allow_decoding(dict[str, MemberState | None])


@allow_decoding
class Federation(Record, kw_only=True, frozen=True):
    """All hosts of a federation."""

    name: str
    hosts: tuple[MemberState, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with any host."""
        return not any(member.flaws for member in self.hosts)


def describe_member(
    host: str, record: MemberRecord, found: Mapping[str, Any], clock: Clock | None
) -> MemberState:
    """Return what a host is, from what it ``found`` (`federation.keeper.report_parent`).

    Raises:
        RecordError: that is no such answer, or has no certificate.
    """
    seen = convert_builtins(found, _Found)
    shown, authority = seen.certificate.encode(), seen.authority.encode()
    own, root = certificates.parse_certificate(shown), certificates.parse_certificate(authority)
    heard = {site: format_time(convert_epoch(at)) for site, at in (seen.clients or {}).items()}
    since = format_time(convert_epoch(seen.since)) if seen.since else None
    mine, now = read_participant(record.member), datetime.now(timezone.utc)
    flaws = [
        *([f"its certificate is that of {fold_line(own.name)}"] if own.name != record.member.name else ()),
        *(
            ["its certificate is not of its authority"]
            if not certificates.is_signed_by(shown, authority)
            else ()
        ),
        *([f"its certificate {flaw}"] if (flaw := own.flaw(now, now)) else ()),
        *(f"a key has the mode {mode}" for mode in seen.modes if mode != "0600"),
        *(["it is up, and does not answer"] if seen.clients is None else ()),
        *([f"its clock is {clock.offset_s:+.0f} s off"] if clock and abs(clock.offset_s) > _OFF_S else ()),
    ]
    return MemberState(
        host=host,
        role=mine.role,
        participant=record.member.name,
        release=seen.release,
        not_after=format_time(own.not_after),
        authority=root.fingerprint,
        modes=seen.modes,
        clock_s=round(clock.offset_s, 3) if clock else None,
        admin=mine.admin,
        since=since,
        heard=heard,
        flaws=tuple(flaws),
    )


def describe_federation(
    name: str, hosts: Sequence[str], members: Mapping[str, MemberState | None]
) -> Federation:
    """Return all hosts, with what is wrong among them; a host missing in ``members`` was not reached."""
    found = []
    server = next((one for one in members.values() if one and one.role == "server"), None)
    for host in hosts:
        one = members.get(host)
        if one is None:
            missing = "has no kit" if host in members else "was not reached"
            found.append(MemberState(host=host, flaws=(missing,)))
        else:
            found.append(replace(one, flaws=(*one.flaws, *_find_differences(one, server))))
    return Federation(name=name, hosts=tuple(found))


def _find_differences(one: MemberState, server: MemberState | None) -> Iterator[str]:
    """Yield what is wrong with a host beside its server."""
    if server is None or one is server:
        return
    if one.authority != server.authority:
        yield "its certificate is of another authority than the server's"
    if one.release != server.release:
        yield f"it has NVFlare {one.release}, and the server {server.release}"
    if server.since and not one.since:
        yield "the server is up, and it is not"
    elif server.since and one.participant not in server.heard:
        yield "it is up, and not connected"
