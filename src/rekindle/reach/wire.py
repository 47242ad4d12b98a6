# SPDX-License-Identifier: Apache-2.0
"""What listener and probe send each other: bounded lines of JSON, and bytes to measure a link by."""

import json
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

PROTOCOL = "rekindle reach 1"
ANSWER_S = 5.0
"""For a connection, a handshake or a line."""
MEASURED_S = 2.0
"""Of one direction."""
_LINE = 4096
_MOST = 256 << 20
"""Bytes of one measurement."""
_BLOCK = bytes(16 << 10)
"""One record of TLS."""


def send_line(peer: ssl.SSLSocket, **fields: Any) -> None:
    """Send one line.

    Raises:
        OSError: the peer is gone or does not read.
    """
    peer.settimeout(ANSWER_S)
    peer.sendall(json.dumps({"rekindle": PROTOCOL, **fields}).encode() + b"\n")


def hear_line(peer: ssl.SSLSocket, limit_s: float = ANSWER_S) -> dict[str, Any]:
    """Return the next line; bytes after it are not read.

    Raises:
        OSError: nothing came in ``limit_s``, or the connection broke.
        ValueError: it is no line of ours, or too long.
    """
    ends, line = time.monotonic() + limit_s, b""
    while not line.endswith(b"\n"):
        peer.settimeout(max(0.001, ends - time.monotonic()))
        byte = peer.recv(1)
        if not byte or len(line) > _LINE:
            raise ValueError("no line")
        line += byte
    try:
        answer = json.loads(line)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(answer, dict) or answer.get("rekindle") != PROTOCOL:
        raise ValueError("no line of ours")
    return answer


def read_number(answer: dict[str, Any], name: str) -> float:
    """Return a finite number that the peer sent.

    Raises:
        ValueError: it is none.
    """
    value = answer.get(name)
    if not isinstance(value, (int, float)) or not abs(value) < 1e15:
        raise ValueError(f"{name} is no number")
    return float(value)


def pour_bytes(peer: ssl.SSLSocket, seconds: float) -> None:
    """Send bytes for so long, or until the peer has had enough."""
    ends, left = time.monotonic() + seconds, _MOST
    with suppress(OSError):
        while left > 0 and (rest := ends - time.monotonic()) > 0:
            peer.settimeout(rest)
            peer.sendall(_BLOCK)
            left -= len(_BLOCK)


def measure_rate(peer: ssl.SSLSocket) -> float:
    """Return at how many bit/s bytes arrive in the second half of `MEASURED_S`, when TCP has found its pace.

    Raises:
        OSError: nothing came, or the connection broke.
    """
    buffer = bytearray(len(_BLOCK))
    peer.settimeout(ANSWER_S)
    peer.recv_into(buffer)
    began = last = time.monotonic()
    since, before, total = began, 0, 0
    with suppress(TimeoutError):
        while total < _MOST and (rest := began + MEASURED_S - time.monotonic()) > 0:
            peer.settimeout(rest)
            got = peer.recv_into(buffer)
            if not got:
                break
            total, last = total + got, time.monotonic()
            if since == began and last - began > MEASURED_S / 2:
                since, before = last, total
    if last == since:
        raise TimeoutError(f"next to nothing came in {MEASURED_S:g} s")
    return (total - before) * 8 / (last - since)


def discard_rest(peer: ssl.SSLSocket) -> None:
    """Read what still comes until the peer ends, for as long as it may send."""
    ends = time.monotonic() + 2 * ANSWER_S
    with suppress(OSError):
        while (rest := ends - time.monotonic()) > 0:
            peer.settimeout(rest)
            if not peer.recv(len(_BLOCK)):
                return


def prepare_socket(raw: socket.socket) -> None:
    """Have small lines sent at once, and nothing wait without a limit."""
    raw.settimeout(ANSWER_S)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
