# SPDX-License-Identifier: Apache-2.0
"""The relay that stands for a slow link: its rate and its delay."""

import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from lab.shaper import Shaper

HERE = ("127.0.0.1", 0)
BIT_S, DELAY_S = 20e6, 0.025


@contextmanager
def peer(does):
    """Have ``does(connection)`` done for one connection; yields the address."""
    with socket.create_server(HERE) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                does(connection)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join(20)
        assert not thread.is_alive()


def joined(shaper):
    return socket.create_connection(("127.0.0.1", shaper.port), 20)


def received(connection, most=1 << 30):
    total = 0
    while total < most and (block := connection.recv(65536)):
        total += len(block)
    return total


def test_a_byte_takes_the_delay_each_way():
    def echo(connection):
        while byte := connection.recv(1):
            connection.sendall(byte)

    with peer(echo) as to, Shaper(HERE, to, BIT_S, DELAY_S) as shaper, joined(shaper) as mine:
        trips = []
        for _ in range(10):
            began = time.monotonic()
            mine.sendall(b"x")
            assert mine.recv(1) == b"x"
            trips.append(time.monotonic() - began)
    assert 2 * DELAY_S <= min(trips[1:]) < 2 * DELAY_S + 0.01


@pytest.mark.parametrize("down", [False, True])
def test_bytes_pass_at_the_rate(down):
    size = 5_000_000
    does = (lambda to: to.sendall(bytes(size))) if down else received
    with peer(does) as to, Shaper(HERE, to, BIT_S, DELAY_S) as shaper, joined(shaper) as mine:
        began = time.monotonic()
        if down:
            assert received(mine) == size
        else:
            mine.sendall(bytes(size))
            mine.shutdown(socket.SHUT_WR)
            assert mine.recv(1) == b""
        took = time.monotonic() - began
    assert took == pytest.approx(size * 8 / BIT_S + 2 * DELAY_S, rel=0.1)
    assert (shaper.down if down else shaper.up).bytes == size


def test_a_receiver_that_does_not_read_holds_the_sender_up():
    waits = threading.Event()
    with peer(lambda _: waits.wait(20)) as to, Shaper(HERE, to, 1e9, 0) as shaper, joined(shaper) as mine:
        mine.settimeout(1)
        with pytest.raises(TimeoutError):
            mine.sendall(bytes(200 << 20))
        assert shaper.up.bytes < 100 << 20
        waits.set()


def test_a_peer_that_is_not_there_ends_the_connection():
    with socket.create_server(HERE) as gone:
        to = gone.getsockname()
    with Shaper(HERE, to, BIT_S, 0) as shaper, joined(shaper) as mine, suppress(ConnectionResetError):
        assert mine.recv(1) == b""
