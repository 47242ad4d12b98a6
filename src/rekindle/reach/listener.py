"""The listener on the server's host: for a limited time in place of NVFlare's server, and for its sites."""

import errno
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from . import Trouble, release, wire
from .kit import Kit, require_valid

_TURNS = 20
"""Round trips that a site may ask for."""
_MOST = 128
"""Connections at a time."""
_LOOK_S = 0.5
_CERTIFICATES = "The certificate of the server's kit", "The CA's certificate in the server's kit"


class Listener:
    """A TLS listener on all addresses, as NVFlare's server is one; it measures one link at a time."""

    def __init__(
        self, kit: Kit, port: int, *, now: Callable[[], float] = time.time, has: str | None = None
    ) -> None:
        """Listen; ``now`` is this host's clock, and ``has`` its release of NVFlare.

        Raises:
            Trouble: the kit is not complete or not valid, or the port is not free.
        """
        kit.require()
        self._context = kit.context()
        for certificate, whose in zip((kit.own(), kit.authority()), _CERTIFICATES, strict=True):
            require_valid(certificate, whose, now())
        self._now, self._release = now, release() if has is None else has
        self._measuring, self._rooms = threading.Lock(), threading.Semaphore(_MOST)
        self._socket = _bound(port)
        self._ends = 0.0

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> "Listener":
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the port."""
        self._socket.close()

    def serve(self, limit_s: float, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Answer sites until ``limit_s`` have passed, or it no longer ``goes_on``."""
        self._ends = time.monotonic() + limit_s
        self._socket.settimeout(_LOOK_S)
        while time.monotonic() < self._ends and goes_on():
            try:
                raw, _ = self._socket.accept()
            except TimeoutError:
                continue
            except OSError:  # of one connection; or too many files are open
                time.sleep(0.01)
                continue
            if self._rooms.acquire(blocking=False):
                threading.Thread(target=self._answer, args=(raw,), daemon=True).start()
            else:
                raw.close()

    def _answer(self, raw: socket.socket) -> None:
        try:
            with suppress(OSError, ValueError), raw:  # whatever is wrong, the site says it
                raw.settimeout(wire.ANSWER_S)
                wire.at_once(raw)
                with self._context.wrap_socket(raw, server_side=True) as peer:
                    self._do(peer, wire.hear(peer).get("do"))
        finally:
            self._rooms.release()

    def _do(self, peer: ssl.SSLSocket, what: object) -> None:
        if what == "look":
            wire.say(peer, release=self._release, at=self._now())
            for _ in range(_TURNS):
                wire.hear(peer)
                wire.say(peer, at=self._now())
        elif what in ("down", "up") and self._measuring.acquire(
            timeout=max(0, self._ends - time.monotonic())
        ):
            try:
                wire.say(peer)
                if what == "down":
                    wire.pour(peer, 2 * wire.MEASURED_S)
                else:
                    wire.say(peer, bit_s=wire.measured(peer))
            finally:
                self._measuring.release()
            if what == "up":
                wire.discard(peer)


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on ``port``.

    Raises:
        Trouble: it is taken, or not for this user.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the last server's connections linger
        bound.bind(("", port))
        bound.listen(_MOST)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} of the server's host is taken by {_holder(port)}."
            raise Trouble(message, "end that process, or choose another port for the federation.") from None
        message = f"Port {port} of the server's host cannot be used: {error.strerror}."
        raise Trouble(message, "choose a port from 1024 on for the federation.") from None
    return bound


def _holder(port: int) -> str:
    """Return who listens on a port, as far as /proc shows it to this user."""
    owners = dict(_listening(port))
    links = {f"socket:[{inode}]" for inode in owners}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another user's, or it has just ended
            if any(os.readlink(link) in links for link in (folder / "fd").iterdir()):  # noqa: PTH115
                words = (
                    (folder / "cmdline").read_bytes()[:200].replace(b"\0", b" ").decode("utf-8", "replace")
                )
                return f"process {folder.name} ({words.strip()})"
    owner = next(iter(owners.values()), None)
    return (
        "a process that this user does not see" if owner is None else f"a process of the user with id {owner}"
    )


def _listening(port: int) -> list[tuple[str, str]]:
    """Return inode and owner of each socket that listens on ``port``."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    found.append((fields[9], fields[7]))
    return found
