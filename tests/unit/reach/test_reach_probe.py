# SPDX-License-Identifier: Apache-2.0
"""The way from a site to the server: what is found of a good one, and what is said of each that is not."""

import errno
import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
from lab.shaper import Shaper

from rekindle.reach import Trouble, wire
from rekindle.reach import probe as probes
from rekindle.reach.kit import Kit

DAY = timedelta(days=1)
HERE = "127.0.0.1"


@contextmanager
def answering(does):
    """Have ``does(connection)`` done for each connection to a port here."""
    with socket.create_server((HERE, 0)) as listener:

        def answer():
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError, ValueError):
                        does(connection)

        threading.Thread(target=answer, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def impostor(kit, does):
    """Have ``does(TLS connection)`` done with the server's own kit."""
    context = kit.context()

    def answer(raw):
        with context.wrap_socket(raw, server_side=True) as peer:
            does(peer)

    with answering(answer) as port:
        yield port


@pytest.fixture
def soon(monkeypatch):
    """Have every wait be short."""
    monkeypatch.setattr(wire, "ANSWER_S", 1.0)
    monkeypatch.setattr(wire, "MEASURED_S", 0.3)


def test_a_good_way_is_measured(listening, server, look, soon):
    with listening(server) as port:
        found = look(port)
    assert found["release"] == "2.9.0"
    assert 0 < found["rtt_s"] < 1
    assert min(found["down_bit_s"], found["up_bit_s"]) > 50e6


def test_bandwidth_and_round_trip_of_a_slow_link_are_right(listening, server, look):
    with listening(server) as port, Shaper((HERE, 0), (HERE, port), 20e6, 0.025) as shaper:
        found = look(shaper.port)
    assert found["down_bit_s"] == pytest.approx(20e6, rel=0.1)
    assert found["up_bit_s"] == pytest.approx(20e6, rel=0.1)
    assert found["rtt_s"] == pytest.approx(0.05, abs=0.02)


def test_links_are_measured_one_after_the_other(listening, server, look):
    with listening(server) as port, Shaper((HERE, 0), (HERE, port), 20e6, 0.001) as shaper:
        found = []
        both = [threading.Thread(target=lambda: found.append(look(shaper.port, turn_s=30))) for _ in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join(60)
    rates = [each[way] for each in found for way in ("down_bit_s", "up_bit_s")]
    assert len(rates) == 4
    assert min(rates) > 0.8 * 20e6  # and not half of it


def test_a_site_that_is_not_served_in_time_is_told(listening, server, told, monkeypatch, soon):
    monkeypatch.setattr(wire, "MEASURED_S", 10)
    kit = Kit(server.folder.parent / "site-1", "client")
    with listening(server) as port, probes.Probe(kit, HERE, port, 30)._asked("down") as other:
        wire.hear_line(other)
        told(port, turn_s=0.5)


def test_a_name_that_does_not_resolve(told, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", _raise(socket.gaierror(-2, "Name or service not known")))
    told(1, address="nowhere.invalid")


def _raise(error):
    def fail(*_, **__):
        raise error

    return fail


def test_a_resolver_that_hangs(look, monkeypatch, soon):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: time.sleep(5) or [])
    with pytest.raises(Trouble, match="does not resolve"):
        look(1)


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.EPERM], ids=["no route", "own firewall"])
def test_a_connection_that_cannot_be_made(told, monkeypatch, number):
    monkeypatch.setattr(socket, "create_connection", _raise(OSError(number, os.strerror(number))))
    told(8102)


def test_a_port_where_nobody_listens(told):
    with socket.create_server((HERE, 0)) as free:
        port = free.getsockname()[1]
    told(port)


def test_a_port_where_packets_are_dropped(told, soon):
    with socket.socket() as full:  # its queue is: further packets are dropped
        full.bind((HERE, 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex((HERE, port))
        told(port)
        for one in waiting:
            one.close()


def _speaks_ssh(connection):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    connection.recv(4096)


def _resets(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


STRANGERS = {
    "says nothing": lambda connection: time.sleep(2),
    "resets": _resets,
    "closes": lambda connection: connection.recv(4096),
    "speaks SSH": _speaks_ssh,
    "endless": lambda connection: [connection.sendall(bytes(1 << 16)) for _ in range(1 << 14)],
}


@pytest.mark.parametrize("does", STRANGERS.values(), ids=STRANGERS)
def test_something_else_listens(told, soon, does):
    with answering(does) as port:
        told(port)


INSIDE = {
    "NVFlare": lambda peer: time.sleep(2),
    "closes": lambda peer: peer.recv(10),
    "garbage": lambda peer: peer.sendall(b'{"rekindle": 1}\n'),
    "deep": lambda peer: peer.sendall(b"[" * 4000 + b"\n"),
    "endless line": lambda peer: peer.sendall(bytes(1 << 20)),
    "drips": lambda peer: [(peer.sendall(b" "), time.sleep(0.1)) for _ in range(20)],
    "no time": lambda peer: [wire.send_line(peer, release="2.9.0", at=float("nan")) for _ in range(6)],
}


@pytest.mark.parametrize("does", INSIDE.values(), ids=INSIDE)
def test_something_else_has_the_servers_kit(told, soon, server, does):
    with impostor(server, does) as port:
        began = time.monotonic()
        told(port)
        assert time.monotonic() - began < 5


def _lies(answer):
    """Return a listener that looks right until a measurement, in which it does ``answer``."""

    def does(peer):
        if wire.hear_line(peer)["do"] == "look":
            wire.send_line(peer, release="2.9.0", at=time.time())
            while True:
                wire.hear_line(peer)
                wire.send_line(peer, at=time.time())
        wire.send_line(peer)
        answer(peer)

    return does


def test_a_link_that_passes_small_packets_alone(told, soon, server):
    with impostor(server, _lies(lambda peer: time.sleep(2))) as port:
        told(port)


def test_bytes_without_end_are_not_read_without_end(look, soon, server):
    with impostor(server, _lies(lambda peer: wire.pour_bytes(peer, 20))) as port:
        began = time.monotonic()
        with pytest.raises(Trouble, match="passes next to nothing"):  # it answers the way up with bytes too
            look(port)
        assert time.monotonic() - began < 5
