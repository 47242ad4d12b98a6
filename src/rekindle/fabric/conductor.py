# SPDX-License-Identifier: Apache-2.0
"""The conductor of a survey, on its first host: tells players what to measure, and keeps what they find."""

import hmac
import json
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle.host import background, folders, storage
from rekindle.records import Norms, RecordError, convert_builtins, dump_builtins, format_time
from rekindle.records.fabric import FabricLook, FabricRecord, Port

from .pairs import list_transports
from .survey import Conduct, SurveyStep
from .wire import AnswerLine, Lines, make_token, prepare_peer, write_line

_GRACE_S = 10.0
"""After a measurement's limit, for a player to say that it hung."""
_HELLO_S = 10.0
_PORTS = 500
"""For the rendezvous of groups, after the conductor's own."""
_CARDS = 20
"""Network cards that one look names."""
_PORTS_OF_HOST = 64
_STRANGERS = 64
"""Connections that wait to say who they are; one more, and that which waited longest goes."""

Report = Callable[[str], None]


class _Peer:
    """A connection; ``host`` is empty until it has said who it is."""

    def __init__(self, sock: socket.socket, address: str) -> None:
        self.socket, self.address, self.host, self.ranks = sock, address, "", 1
        self.lines, self.since = Lines(), time.monotonic()


class Conductor:
    """A survey of the hosts of ``spec``, whose players connect to this one."""

    def __init__(self, spec: dict[str, Any], report: Report) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        self._spec, self._report = spec, report
        norms = convert_builtins(spec["norms"], Norms) if spec.get("norms") else None
        self._conduct = Conduct(spec["hosts"], norms)
        self._peers: dict[socket.socket, _Peer] = {}
        self._players: dict[str, _Peer] = {}
        self._listener = socket.create_server(("", spec["port"]), backlog=1024)
        self._orders = 0
        self._ports: dict[str, tuple[Port, ...]] = {}

    def conduct_survey(self) -> FabricRecord:
        """Return what was measured until all is done, or the time of the survey is over."""
        started, began = format_time(), time.monotonic()
        ends = began + self._spec["total_s"]
        self._await_players(began + self._spec["join_s"])
        steps = self._conduct.list_steps()
        step = next(steps, None)
        while step is not None and time.monotonic() + step.rest_s + self._spec["limit_s"] < ends:
            self._report(step.title)
            time.sleep(step.rest_s)
            looks = self._measure(step)
            try:
                step = steps.send(looks)
            except StopIteration:
                step = None
        for peer in self._peers.values():
            peer.socket.close()
        return FabricRecord(
            hosts=tuple(self._spec["hosts"]),
            started=started,
            seconds=round(time.monotonic() - began, 1),
            silent=self._conduct.silent,
            ports=self._ports,
            looks=tuple(self._conduct.looks),
        )

    def _await_players(self, ends: float) -> None:
        wanted = set(self._spec["hosts"])
        while (missing := wanted - self._players.keys()) and time.monotonic() < ends:
            self._report(f"{len(self._players)} of {len(wanted)} hosts are there")
            for peer, line in self._hear(min(ends, time.monotonic() + 1.0)):
                self._greet(peer, line)
        at = f"{self._spec['address']}:{self._spec['port']}"
        why = f"did not join the measurement at {at} within {self._spec['join_s']:.0f} s"
        self._conduct.silent.update(dict.fromkeys(sorted(missing), why))

    def _greet(self, peer: _Peer, line: AnswerLine) -> None:
        host, token, ranks = (line.get(name) for name in ("host", "token", "ranks"))
        own = make_token(self._spec["token"], str(host))
        right = isinstance(token, str) and hmac.compare_digest(token.encode(), own.encode())
        known = isinstance(host, str) and host in self._spec["hosts"] and host not in self._players
        if not (right and known and isinstance(ranks, int) and 1 <= ranks <= 64):
            self._drop(peer)
            return
        peer.host, peer.ranks = str(host), ranks
        self._players[peer.host] = peer
        self._note_ports(peer.host, line)

    def _note_ports(self, host: str, line: AnswerLine) -> None:
        with suppress(RecordError, TypeError, KeyError):
            ports = [convert_builtins(port, Port) for port in line["ports"][:_PORTS_OF_HOST]]
            self._ports[host] = tuple(ports)

    def _measure(self, step: SurveyStep) -> list[FabricLook]:
        """Return a look for each group of the step."""
        answers: dict[int, dict[str, AnswerLine]] = {}
        groups: dict[int, tuple[str, ...]] = {}
        longest = 0.0
        for group in step.groups:
            self._orders += 1
            limit_s = self._spec["limit_s"] * (1 if len(group) == 2 else 2)
            longest = max(longest, limit_s)
            groups[self._orders], answers[self._orders] = group, {}
            players = [self._players.get(host) for host in group]
            ranks = min((player.ranks for player in players if player), default=1)
            first = players[0]
            for place, player in enumerate(players):
                if player is None or first is None:
                    continue
                order = {
                    "id": self._orders,
                    "address": first.address,
                    "port": self._spec["port"] + 1 + self._orders % _PORTS,
                    "hosts": len(group),
                    "place": place,
                    "ranks": ranks,
                    "limit_s": limit_s,
                    "budget_s": self._spec["budget_s"],
                }
                with suppress(OSError):
                    player.socket.settimeout(_GRACE_S)
                    write_line(player.socket, order)
        ends = time.monotonic() + longest + _GRACE_S
        while self._waits(groups, answers) and time.monotonic() < ends:
            for peer, line in self._hear(ends):
                number = line.get("id")
                if peer.host and isinstance(number, int) and peer.host in groups.get(number, ()):
                    answers[number][peer.host] = line
                    self._note_ports(peer.host, line)
        for number, group in groups.items():
            for host in group:
                if host not in answers[number]:
                    gone = "ended its part" if host not in self._players else "gave no answer"
                    others = ", ".join(other for other in group if other != host)[:200]
                    self._conduct.silent.setdefault(host, f"{gone} while it was measured with {others}")
                    if player := self._players.pop(host, None):
                        self._drop(player)
        return [_merge(group, list(answers[number].values())) for number, group in groups.items()]

    def _waits(self, groups: dict[int, tuple[str, ...]], answers: dict[int, dict[str, AnswerLine]]) -> bool:
        """Whether a player that is there has not answered."""
        return any(
            host in self._players and host not in answers[number]
            for number, group in groups.items()
            for host in group
        )

    def _hear(self, ends: float) -> Iterator[tuple[_Peer, AnswerLine]]:
        """Yield the lines that came, once some have or it is time."""
        wait_s = max(0.0, min(1.0, ends - time.monotonic()))
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            for sock, peer in self._peers.items():
                selector.register(sock, selectors.EVENT_READ, peer)
            ready: list[_Peer | None] = [key.data for key, _ in selector.select(wait_s)]
        if None in ready:
            self._accept()
        for known in filter(None, ready):
            if known.socket in self._peers:
                yield from ((known, line) for line in self._take(known))
        for peer in [*self._peers.values()]:
            if not peer.host and time.monotonic() - peer.since > _HELLO_S:
                self._drop(peer)

    def _accept(self) -> None:
        sock, (address, _) = self._listener.accept()
        prepare_peer(sock)
        self._peers[sock] = _Peer(sock, address)
        strangers = [peer for peer in self._peers.values() if not peer.host]
        if len(strangers) > _STRANGERS:
            self._drop(strangers[0])

    def _take(self, peer: _Peer) -> list[AnswerLine]:
        """Return the lines that came from a peer that has sent something; drop one that is gone or lies."""
        try:
            peer.socket.settimeout(_GRACE_S)
            if block := peer.socket.recv(1 << 16):
                return list(peer.lines.take(block))
        except (OSError, ValueError):
            pass
        self._drop(peer)
        return []

    def _drop(self, peer: _Peer) -> None:
        self._peers.pop(peer.socket, None)
        if self._players.get(peer.host) is peer:
            del self._players[peer.host]
        peer.socket.close()


def _merge(group: tuple[str, ...], answers: list[AnswerLine]) -> FabricLook:
    """Return one look of what the hosts of a group answered; a missing answer is a group that hung."""
    try:
        looks = [convert_builtins({**_own(answer), "hosts": group}, FabricLook) for answer in answers]
    except (RecordError, TypeError) as error:
        return FabricLook(hosts=group, outcome="failed", message=f"an answer cannot be read: {error}"[:300])
    for outcome in ("failed", "hung"):
        if worst := next((look for look in looks if look.outcome == outcome), None):
            return replace(worst, message=worst.message[:300])
    if len(looks) < len(group):
        return FabricLook(hosts=group, outcome="hung", message="a host gave no answer")
    first = next((look for look in looks if look.bandwidths), looks[0])
    return replace(
        first,
        wrong=max(look.wrong for look in looks),
        resent=max((look.resent for look in looks if look.resent is not None), default=None),
        transports=tuple(list_transports(looks)),
        devices=tuple(sorted({name for look in looks for name in look.devices})[:_CARDS]),
    )


def _own(answer: AnswerLine) -> AnswerLine:
    return {name: value for name, value in answer.items() if name not in ("id", "hosts", "ports")}


def run_conductor(folder: Path, spec: dict[str, Any]) -> None:
    """Conduct a survey; leave its record and its progress in ``folder``."""
    began = time.monotonic()
    progress = folder / folders.PROGRESS

    def report(message: str) -> None:
        background.write_progress(progress, "running", message, time.monotonic() - began)

    try:
        record = Conductor(spec, report).conduct_survey()
    except OSError as error:
        says = f"Port {spec['port']} of the first host cannot be used: {error.strerror}."
        background.write_progress(progress, "failed", says, time.monotonic() - began)
        return
    content = json.dumps(dump_builtins(record), separators=(",", ":")).encode()
    storage.write_file(folder / folders.FABRIC_RECORD, content)
    background.write_progress(progress, "ended", "measured", time.monotonic() - began, changed=True)
