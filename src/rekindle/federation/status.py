# SPDX-License-Identifier: Apache-2.0
"""What a federation is on its hosts now, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from msgspec.structs import replace

from rekindle.records import (
    Clock,
    MemberRecord,
    Record,
    Timestamp,
    convert,
    decodable,
    moment_at,
    timestamp,
)
from rekindle.records.base import Few, Offset, Table, Text, Time
from rekindle.records.text import one_line

from . import certificates

_OFF_S = 60.0
"""NVFlare's certificates are valid from the minute on in which they were made."""


class Member(Record, kw_only=True, frozen=True):
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


@decodable
class _Found(Record, kw_only=True, frozen=True):
    """What `trainer.kept.status` answers on a host."""

    certificate: Text
    authority: Text
    modes: Few[Text]
    release: Text
    since: Time | None
    clients: Table[Time] | None


MEMBERS = decodable(dict[str, Member | None])


@decodable
class Federation(Record, kw_only=True, frozen=True):
    """All hosts of a federation."""

    name: str
    hosts: tuple[Member, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with any host."""
        return not any(member.flaws for member in self.hosts)


def member(host: str, record: MemberRecord, found: Mapping[str, Any], clock: Clock | None) -> Member:
    """Return what a host is, from what it ``found`` (`trainer.kept.status`).

    Raises:
        RecordError: that is no such answer, or has no certificate.
    """
    seen = convert(found, _Found)
    shown, authority = seen.certificate.encode(), seen.authority.encode()
    own, root = certificates.read(shown), certificates.read(authority)
    heard = {site: timestamp(moment_at(at)) for site, at in (seen.clients or {}).items()}
    since = timestamp(moment_at(seen.since)) if seen.since else None
    now = datetime.now(timezone.utc)
    flaws = [
        *(
            [f"its certificate is that of {one_line(own.name)}"]
            if own.name != record.participant.name
            else ()
        ),
        *(
            ["its certificate is not of its authority"]
            if not certificates.signed_by(shown, authority)
            else ()
        ),
        *([f"its certificate {flaw}"] if (flaw := own.flaw(now, now)) else ()),
        *(f"a key has the mode {mode}" for mode in seen.modes if mode != "0600"),
        *(["it is up, and does not answer"] if seen.clients is None else ()),
        *([f"its clock is {clock.offset_s:+.0f} s off"] if clock and abs(clock.offset_s) > _OFF_S else ()),
    ]
    return Member(
        host=host,
        role=record.participant.role,
        participant=record.participant.name,
        release=seen.release,
        not_after=timestamp(own.not_after),
        authority=root.fingerprint,
        modes=seen.modes,
        clock_s=round(clock.offset_s, 3) if clock else None,
        admin=record.participant.admin,
        since=since,
        heard=heard,
        flaws=tuple(flaws),
    )


def federation(name: str, hosts: Sequence[str], members: Mapping[str, Member | None]) -> Federation:
    """Return all hosts, with what is wrong among them; a host missing in ``members`` was not reached."""
    found = []
    server = next((one for one in members.values() if one and one.role == "server"), None)
    for host in hosts:
        one = members.get(host)
        if one is None:
            missing = "has no kit" if host in members else "was not reached"
            found.append(Member(host=host, flaws=(missing,)))
        else:
            found.append(replace(one, flaws=(*one.flaws, *_beside(one, server))))
    return Federation(name=name, hosts=tuple(found))


def _beside(one: Member, server: Member | None) -> Iterator[str]:
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
