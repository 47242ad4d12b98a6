# SPDX-License-Identifier: Apache-2.0
"""The probe at a site: name, route, port, TLS, clock, release and bandwidth, and what is wrong with each."""

import errno
import math
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from . import Trouble, find_release, wire
from .kit import Kit, read_common_name, require_valid

_PINGS = 5
_ADDRESSES = 4
_FOREIGN = {7, 18, 19, 20, 21}
"""X509_V_ERR_…: a wrong signature, self-signed, no issuer here, not verifiable."""
_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
_PROVISION = "provision the federation again: all its kits need one CA."
_ANOTHER = "end what listens there, or choose another port for the federation."
_COMPLAINTS = {
    "name": (
        "The name {address} does not resolve to an IPv4 address at this site.",
        "add it to this site's DNS or /etc/hosts, or name the server by its address.",
    ),
    "no route": (
        "This site has no route to {there}: {why}.",
        "correct its routes, or name an address of the server's host to which it has one.",
    ),
    "refused": (
        "{there} refuses this site's connection: nobody listens there, or a firewall rejects it.",
        "open TCP port {port} to the server's host, and see that the listener there still runs.",
    ),
    "silent": (
        "{there} does not answer this site within {limit:g} s, as when a firewall drops packets.",
        "let TCP port {port} through, out of this site and into the server's host.",
    ),
    "not allowed": ("This site cannot connect to {there}: {why}.", "see that it may open connections."),
    "ended": ("{there} ends the connection before TLS stands: a firewall, or another program.", _ANOTHER),
    "mute": ("{there} takes the connection and says nothing: a firewall, or another program.", _ANOTHER),
    "no TLS": (
        "Something other than the federation's listener answers at {there}: it does not use TLS.",
        _ANOTHER,
    ),
    "foreign": ("The certificate of {there} is of another CA than this site's kit.", _PROVISION),
    "unfit": ("The certificate of {there} is no server's of this CA: {why}.", _PROVISION),
    "not taken": ("The server at {there} does not take this site's certificate: {why}.", _PROVISION),
    "elsewhere": (
        "{there} is not the server {wanted!r} of this site's kit: its certificate is that of {why!r}.",
        "correct the server's address, or provision the federation again.",
    ),
    "not ours": (
        "Something other than the listener answers at {there}, with the server's certificate; "
        "NVFlare's server may run already.",
        _ANOTHER,
    ),
    "busy": (
        "The listener at {there} measures other sites' links for more than {turn:g} s.",
        "run again; if it is so each time, see which site hangs.",
    ),
    "clock": (
        "This site's clock is {why} the server's; certificates and the times of a run allow {clock:g} s.",
        "set both clocks, for example by NTP (timedatectl set-ntp true).",
    ),
    "release": (
        "NVFlare differs: {why}.",
        "set rekindle_nvflare once for all hosts, and build their environments again.",
    ),
    "next to nothing": (
        "The connection to {there} stands and passes next to nothing.",
        "see what the link drops: packets of full size (MTU), or all but the first.",
    ),
}


_CLOCK_S = 30.0
"""Largest difference of the two clocks that does no harm."""


@dataclass(frozen=True)
class Probe:
    """A site's way to its server."""

    kit: Kit
    address: str
    port: int
    planned: str = ""
    """NVFlare's release that all hosts are to have."""
    turn_s: float = 120.0
    """Until this site's link is measured: one is at a time."""
    now: Callable[[], float] = time.time
    has: str | None = None
    """NVFlare's release here; None: the environment's."""

    def look(self) -> dict[str, float | str]:
        """Return ``rtt_s``, ``down_bit_s``, ``up_bit_s`` and ``release``.

        Raises:
            Trouble: something is wrong with the way; the first thing.
        """
        with self._asked("look") as peer:
            server, answer = peer.getpeercert() or {}, self._heard(peer)
            rtt, offset = self._clock(peer)
        if abs(offset) - rtt / 2 > _CLOCK_S:
            raise self._trouble("clock", f"{abs(offset):.0f} s {'behind' if offset < 0 else 'ahead of'}")
        self.kit.require("site's", self.now())
        require_valid(server, f"The certificate of {self.address}:{self.port}", self.now())
        here, there = find_release() if self.has is None else self.has, str(answer.get("release"))[:40]
        if not here or here != there or self.planned not in ("", here):
            planned = f", and {self.planned} is planned" if self.planned else ""
            names = f"this site has {here or 'none'}, the server {there or 'none'}"
            raise self._trouble("release", names + planned)
        with self._asked("down") as peer:
            self._heard(peer, turn=True)
            down = self._measured(lambda: wire.measure_rate(peer))
        with self._asked("up") as peer:
            self._heard(peer, turn=True)
            wire.pour_bytes(peer, wire.MEASURED_S + 4 * rtt)
            up = self._measured(lambda: wire.read_number(wire.hear_line(peer), "bit_s"))
            peer.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # the rest stays here
        return {"rtt_s": rtt, "down_bit_s": down, "up_bit_s": up, "release": here}

    def _trouble(self, kind: str, why: object = "", wanted: str = "") -> Trouble:
        words = {"address": self.address, "port": self.port, "there": f"{self.address}:{self.port}"}
        limits = {"limit": wire.ANSWER_S, "turn": self.turn_s, "clock": _CLOCK_S}
        message, fix = (text.format(why=why, wanted=wanted, **words, **limits) for text in _COMPLAINTS[kind])
        return Trouble(message, fix)

    def _asked(self, what: str) -> ssl.SSLSocket:
        """Return a new connection that asks the listener for something."""
        context, wanted = self.kit.context(), self.kit.identity()
        raw = self._connected()
        try:
            wire.prepare_socket(raw)
            peer = context.wrap_socket(raw)
        except OSError as error:
            raw.close()
            raise self._no_tls(error) from None
        if (name := read_common_name(peer.getpeercert() or {})) != wanted:
            peer.close()
            raise self._trouble("elsewhere", name, wanted)
        with suppress(OSError):  # the reason is in what it answers
            wire.send_line(peer, do=what)
        return peer

    def _connected(self) -> socket.socket:
        failed: OSError | None = None
        for address in self._addresses():
            try:
                return socket.create_connection((address, self.port), wire.ANSWER_S)
            except OSError as error:
                failed = failed or error
        if isinstance(failed, ConnectionRefusedError):
            raise self._trouble("refused")
        if isinstance(failed, TimeoutError | ConnectionResetError):
            raise self._trouble("silent" if isinstance(failed, TimeoutError) else "ended")
        if failed is None:
            raise self._trouble("name")
        kind = "no route" if failed.errno in _NO_ROUTE else "not allowed"
        raise self._trouble(kind, failed.strerror or failed)

    def _addresses(self) -> list[str]:
        """Return the IPv4 addresses of the server, which listens on no others."""
        found: list[str] = []

        def resolve() -> None:
            with suppress(OSError, UnicodeError):
                known = socket.getaddrinfo(self.address, self.port, socket.AF_INET, socket.SOCK_STREAM)
                found.extend(str(entry[4][0]) for entry in known[:_ADDRESSES])

        resolving = threading.Thread(target=resolve, daemon=True)  # it has no limit of its own
        resolving.start()
        resolving.join(2 * wire.ANSWER_S)
        return found[:]

    def _no_tls(self, error: OSError) -> Trouble:
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._trouble(
                "foreign" if error.verify_code in _FOREIGN else "unfit", error.verify_message
            )
        ends = ConnectionResetError | BrokenPipeError | ssl.SSLEOFError | ssl.SSLZeroReturnError  # 3.11.2's
        if isinstance(error, ends):
            return self._trouble("ended")
        return self._trouble("mute" if isinstance(error, TimeoutError) else "no TLS")

    def _heard(self, peer: ssl.SSLSocket, *, turn: bool = False) -> dict[str, object]:
        """Return the listener's answer; ``turn``: to a measurement, for which others may be first."""
        try:
            return wire.hear_line(peer, self.turn_s if turn else wire.ANSWER_S)
        except TimeoutError:
            raise self._trouble("busy" if turn else "not ours") from None
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "reason", ""))
            raise self._trouble("not taken" if "ALERT" in reason else "not ours", reason) from None

    def _clock(self, peer: ssl.SSLSocket) -> tuple[float, float]:
        """Return the shortest of some round trips, and the offset of this clock by it."""
        best = (math.inf, 0.0)
        for _ in range(_PINGS):
            began, before = time.monotonic(), self.now()
            with suppress(OSError):
                wire.send_line(peer)
            try:
                there = wire.read_number(self._heard(peer), "at")
            except ValueError:
                raise self._trouble("not ours") from None
            took = time.monotonic() - began
            best = min(best, (took, before + took / 2 - there))
        return best

    def _measured(self, measure: Callable[[], float]) -> float:
        with suppress(OSError, ValueError):
            if (found := measure()) > 0:
                return found
        raise self._trouble("next to nothing")
