# SPDX-License-Identifier: Apache-2.0
"""The listener on the server's host: for a limited time in place of NVFlare's server, and for its sites."""

import errno
import os
import socketserver
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import Trouble, find_release, wire
from .kit import Kit

_TURNS = 20
"""Round trips that a site may ask for."""
_MOST = 128
"""Connections at a time."""
_LOOK_S = 0.5


class Listener(socketserver.ThreadingTCPServer):
    """A TLS listener on all addresses, as NVFlare's server is one; it measures one link at a time."""

    allow_reuse_address = True  # the last server's connections linger
    daemon_threads, block_on_close = True, False
    request_queue_size, timeout = _MOST, _LOOK_S

    def __init__(
        self, kit: Kit, port: int, *, now: Callable[[], float] = time.time, has: str | None = None
    ) -> None:
        """Listen; ``now`` is this host's clock, and ``has`` its release of NVFlare.

        Raises:
            Trouble: the kit is not complete or not valid, or the port is not free.
        """
        kit.require("server's", now())
        self._context, self._now = kit.context(), now
        self._release = find_release() if has is None else has
        self._measuring, self._room, self._ends = threading.Lock(), threading.Semaphore(_MOST), 0.0
        try:
            super().__init__(("", port), socketserver.BaseRequestHandler)
        except OSError as error:
            where, why = f"Port {port} of the server's host", f"cannot be used: {error.strerror}"
            fix = "choose a port from 1024 on for the federation."
            if error.errno == errno.EADDRINUSE:
                why, fix = f"is taken by {_holder(port)}", "end that process, or choose another port."
            raise Trouble(f"{where} {why}.", fix) from None

    def serve(self, limit_s: float, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Answer sites until ``limit_s`` have passed, or it no longer ``goes_on``."""
        self._ends = time.monotonic() + limit_s
        while time.monotonic() < self._ends and goes_on():
            self.handle_request()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for a connection."""
        return self._room.acquire(blocking=False)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer one connection, in a thread of its own; the site reports whatever is wrong with it."""
        try:
            with suppress(OSError, ValueError):
                wire.prepare_socket(request)
                with self._context.wrap_socket(request, server_side=True) as peer:
                    self._do(peer, wire.hear_line(peer).get("do"))
        finally:
            self._room.release()

    def _do(self, peer: ssl.SSLSocket, what: object) -> None:
        if what == "look":
            wire.send_line(peer, release=self._release, at=self._now())
            for _ in range(_TURNS):
                wire.hear_line(peer)
                wire.send_line(peer, at=self._now())
        elif what in ("down", "up") and self._measuring.acquire(
            timeout=max(0, self._ends - time.monotonic())
        ):
            try:
                wire.send_line(peer)
                if what == "down":
                    wire.pour_bytes(peer, 2 * wire.MEASURED_S)
                else:
                    wire.send_line(peer, bit_s=wire.measure_rate(peer))
            finally:
                self._measuring.release()
            if what == "up":
                wire.discard_rest(peer)


def is_served(kit: str) -> bool:
    """Whether NVFlare's server runs with the copy of a kit that the driver made for a run."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            if f"{kit}.run" in words and any(word.endswith("server_train") for word in words):
                return True
    return False


def _holder(port: int) -> str:
    """Return who listens on a port, as far as /proc shows it to this user."""
    owners: dict[str, str] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for fields in map(str.split, Path(table).read_text(encoding="ascii").splitlines()[1:]):
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    owners[f"socket:[{fields[9]}]"] = fields[7]
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another user's, or it has just ended
            if any(os.readlink(link) in owners for link in (folder / "fd").iterdir()):  # noqa: PTH115
                words = (
                    (folder / "cmdline").read_bytes()[:200].replace(b"\0", b" ").decode("utf-8", "replace")
                )
                return f"process {folder.name} ({words.strip()})"
    return f"a process of the user with id {next(iter(owners.values()), 'unknown')}"
