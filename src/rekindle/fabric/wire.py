# SPDX-License-Identifier: Apache-2.0
"""What conductor and players send each other: bounded lines of JSON over TCP."""

import hmac
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

AnswerLine = dict[str, Any]
MOST = 64 << 10
"""Bytes of a line."""
_RETRY_S = 0.5


def make_token(token: str, host: str) -> str:
    """Return by which a host shows the conductor, who has the survey's ``token``, that it is itself."""
    return hmac.digest(token.encode(), host.encode(), "sha256").hex()


def open_connection(address: str, port: int, within_s: float) -> socket.socket:
    """Return a connection to the conductor, which may not listen yet.

    Raises:
        OSError: nobody listened in time.
    """
    ends = time.monotonic() + within_s
    while True:
        try:
            peer = socket.create_connection((address, port), timeout=10)
            prepare_peer(peer)
            return peer
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(_RETRY_S)


def prepare_peer(peer: socket.socket) -> None:
    """Have lines sent at once, and a peer that is gone noticed in about a minute."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 20), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 4)):
        peer.setsockopt(socket.IPPROTO_TCP, option, value)


def write_line(peer: socket.socket, fields: AnswerLine) -> None:
    """Send one line.

    Raises:
        OSError: the peer is gone, or does not read.
    """
    peer.sendall(json.dumps(fields).encode() + b"\n")


def hear_lines(peer: socket.socket) -> Iterator[AnswerLine]:
    """Yield lines until the peer ends.

    Raises:
        OSError: nothing came in the socket's time, or the connection broke.
        ValueError: it is no line of ours, or too long.
    """
    lines = Lines()
    while block := peer.recv(1 << 16):
        yield from lines.take(block)


class Lines:
    """What came of lines so far."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._rest = b""

    def take(self, block: bytes) -> Iterator[AnswerLine]:
        """Yield the lines that are complete with ``block``.

        Raises:
            ValueError: one is no line of ours, or too long.
        """
        *whole, self._rest = (self._rest + block).split(b"\n")
        if len(self._rest) > MOST:
            raise ValueError("too long")
        for line in whole:
            try:
                fields = json.loads(line[:MOST])
            except RecursionError:
                raise ValueError("too deep") from None
            if not isinstance(fields, dict):
                raise ValueError("no line of ours")
            json.dumps(fields, ensure_ascii=False).encode()  # raises ValueError for half a character
            yield fields
