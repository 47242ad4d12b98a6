# SPDX-License-Identifier: Apache-2.0
"""The conductor waits for nobody longer than it has to, and bounds what players say."""

import json
import resource
import socket
import threading
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from rekindle.fabric import conductor
from rekindle.fabric.conductor import Conductor
from rekindle.fabric.wire import MOST, Lines, hear_lines, make_token, open_connection, write_line

GOOD = {
    "outcome": "measured",
    "wrong": 0,
    "latency_us": 50.0,
    "bandwidths": [{"op": "all_reduce", "size": 1 << 20, "gb_s": 1.0}],
    "transports": ["TCP"],
    "devices": ["eth0"],
    "resent": 0.0,
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def conduct(monkeypatch):
    """Return what returns the record of hosts, of which each does what its function says."""
    monkeypatch.setattr(conductor, "_GRACE_S", 0.5)
    peers = []

    def run(join_s=5.0, limit_s=0.5, **players):
        spec = {"hosts": [*players], "port": free_port(), "token": "secret", "join_s": join_s}
        spec |= {"address": "127.0.0.1", "limit_s": limit_s, "budget_s": 0.1, "total_s": 60.0}
        conducts = Conductor(spec, lambda message: None)
        for host, player in players.items():
            if player is not None:
                peer = open_connection("127.0.0.1", spec["port"], 5)
                peers.append(peer)
                threading.Thread(target=player, args=(host, peer), daemon=True).start()
        return conducts.conduct_survey()

    yield run
    for peer in peers:
        peer.close()


def good(host, peer, answer=lambda order: GOOD):
    with suppress(OSError):  # the survey is over
        write_line(peer, {"host": host, "token": make_token("secret", host), "ranks": 1})
        for order in hear_lines(peer):
            if (found := answer(order)) is not None:
                write_line(peer, {"id": order["id"], **found})


def test_strangers_who_connect_and_say_nothing_keep_no_host_away(conduct, monkeypatch):
    monkeypatch.setattr(conductor, "_STRANGERS", 20)
    most, strangers = resource.getrlimit(resource.RLIMIT_NOFILE), []

    def flood(order):
        while len(strangers) < 60:  # each takes a descriptor here and one of the conductor's
            strangers.append(
                socket.create_connection(("127.0.0.1", order["port"] - 1 - order["id"]), timeout=5)
            )
        return GOOD

    resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/proc/self/fd").iterdir()]) + 100, most[1]))
    try:
        record = conduct(a=good, b=good, c=lambda host, peer: good(host, peer, flood))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
        for one in strangers:
            one.close()
    assert len(strangers) == 60
    assert {look.outcome for look in record.looks} == {"measured"}
    assert record.silent == {}


def test_each_group_has_an_order_with_a_place_for_each_host_and_a_port_of_its_own(conduct):
    orders = []

    def player(host, peer):
        good(host, peer, lambda order: orders.append((host, order)) or GOOD)

    record = conduct(a=player, b=player, c=player, d=player)
    assert [len(look.hosts) for look in record.looks] == [2, 2, 2, 2, 2, 2, 4, 4]
    assert {look.outcome for look in record.looks} == {"measured"}
    assert record.silent == {}
    assert (record.looks[0].bandwidths[0].gb_s, record.looks[0].devices) == (1.0, ("eth0",))
    by_order = {}
    for host, order in orders:
        by_order.setdefault(order["id"], []).append((order["place"], host, order["port"]))
    assert all(sorted(place for place, _, _ in of) == list(range(len(of))) for of in by_order.values())
    ports = [of[0][2] for _, of in sorted(by_order.items())]
    assert all(one != other for one, other in pairwise(ports))


def test_a_host_that_is_not_there_is_silent_and_the_others_are_measured(conduct):
    began = time.monotonic()
    record = conduct(a=good, b=good, c=None, join_s=1.0)
    assert record.silent["c"].endswith(" within 1 s")
    assert [look.hosts for look in record.looks] == [("a", "b")]
    assert time.monotonic() - began < 5


def test_a_player_that_answers_no_more_is_silent_after_the_limit(conduct):
    def stops(host, peer):
        good(host, peer, lambda order: None)

    began = time.monotonic()
    record = conduct(a=good, b=good, c=good, d=stops)
    assert list(record.silent) == ["d"]
    assert record.silent["d"].startswith("gave no answer while it was measured with ")
    assert time.monotonic() - began < 5
    assert sum("d" in look.hosts for look in record.looks) == 1


def test_a_player_that_leaves_holds_nobody_up(conduct):
    def leaves(host, peer):
        write_line(peer, {"host": host, "token": make_token("secret", host), "ranks": 1})
        next(hear_lines(peer))
        peer.close()

    record = conduct(a=good, b=good, c=leaves, limit_s=30.0)
    assert record.silent["c"].startswith("ended its part while it was measured with ")


@pytest.mark.parametrize(
    "hello",
    [
        {"host": "c", "token": "guess", "ranks": 1},
        {"host": "c", "token": make_token("secret", "a"), "ranks": 1},
        {"host": "z", "token": make_token("secret", "z"), "ranks": 1},
        {"host": "a", "token": make_token("secret", "a"), "ranks": 1 << 40},
        {"host": ["c"], "token": None},
        {"host": "\ud800", "token": "x", "ranks": 1},
        {"host": "c", "token": "\ud800", "ranks": 1},
        [],
    ],
)
def test_a_stranger_is_no_player(conduct, hello):
    def stranger(host, peer):
        peer.sendall(json.dumps(hello).encode() + b"\n")

    record = conduct(a=good, b=good, c=stranger, join_s=1.0)
    assert list(record.silent) == ["c"]


@pytest.mark.parametrize(
    "lie",
    [
        {"outcome": "perfect"},
        {"outcome": "measured", "wrong": "none"},
        {"outcome": "measured", "wrong": -1, "latency_us": -5},
        {"outcome": "measured", "transports": ["x" * 5000] * 5},
        {"outcome": "measured", "bandwidths": [{"op": "all_reduce", "size": 8, "gb_s": 1e300}]},
        {"outcome": "failed", "message": "x" * 50_000},
    ],
)
def test_what_a_player_says_is_bounded(conduct, lie):
    def lies(host, peer):
        good(host, peer, lambda order: lie)

    record = conduct(a=good, b=lies)
    assert [look.outcome for look in record.looks] != ["measured"]
    assert all(len(look.message) <= 300 for look in record.looks)


def test_a_line_is_bounded():
    lines = Lines()
    assert list(lines.take(b'{"a": 1}\n{"b"')) == [{"a": 1}]
    assert list(lines.take(b": 2}\n")) == [{"b": 2}]
    with pytest.raises(ValueError, match="too long"):
        list(lines.take(b"x" * (MOST + 1)))
    with pytest.raises(ValueError, match="no line"):
        list(Lines().take(b"[1]\n"))
    with pytest.raises(ValueError, match="too deep"):
        list(Lines().take(b"[" * 60_000 + b"\n"))


@pytest.mark.parametrize(
    "lie", [None, "x", [7], [{"name": "a"}], {"name": "a"}, [{"name": "a", "grew": {"b": -1e9}}]]
)
def test_the_newest_ports_of_a_host_are_recorded_and_lies_about_them_are_not(conduct, lie):
    port = {"name": "eth0", "state": "up", "gbit_s": 25.0, "grew": {}}
    grew = {"ports": [{**port, "grew": {"rx_errors": 3}}] * 100}
    record = conduct(
        a=lambda host, peer: good(host, peer, lambda order: GOOD | grew),
        b=lambda host, peer: good(host, peer, lambda order: GOOD | {"ports": lie}),
    )
    assert {look.outcome for look in record.looks} == {"measured"}
    assert [port.grew for port in record.ports["a"]] == [{"rx_errors": 3}] * 64
    assert "b" not in record.ports
