# SPDX-License-Identifier: Apache-2.0
"""The listener on the server's host: what it refuses at once, how it ends, and whom it does not wait for."""

import json
import os
import socket
import sys
import threading
import time
from datetime import timedelta

import pytest
from runners.commands import capture_command
from runners.plays import REPOSITORY
from runners.waits import until

from rekindle.host.look import is_held
from rekindle.reach import Trouble, wire
from rekindle.reach.kit import Kit
from rekindle.reach.listener import Listener

DAY = timedelta(days=1)


def test_a_port_that_is_taken_names_its_process(server):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Trouble) as trouble:
        Listener(server, taken.getsockname()[1])
    assert f"is taken by process {os.getpid()} (" in trouble.value.message


def test_a_port_of_root_alone(server, monkeypatch):
    def bind(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Listener, "server_bind", bind)
    with pytest.raises(Trouble, match="Port 443 of the server's host cannot be used: Permission denied"):
        Listener(server, 443)


@pytest.mark.parametrize(
    ("begins", "ends", "message"),
    [(-3 * DAY, -2 * DAY, "has expired at"), (2 * DAY, 3 * DAY, "is not valid before")],
    ids=["expired", "not yet valid"],
)
def test_a_certificate_out_of_its_time(authority, begins, ends, message):
    with pytest.raises(Trouble, match=f"The certificate of the server's kit {message}"):
        Listener(authority.kit("server", "server", begins, ends), 0)


def test_a_certificate_of_another_ca(server, foreign):
    other = foreign.kit("server", "server").folder / "startup/rootCA.pem"
    (server.folder / "startup/rootCA.pem").write_bytes(other.read_bytes())
    with pytest.raises(Trouble, match=r"server\.crt is not of the CA beside it"):
        Listener(server, 0)


@pytest.mark.parametrize("name", ["server.crt", "server.key", "rootCA.pem", "fed_server.json"])
def test_a_kit_that_lacks_a_file(server, name):
    (server.folder / "startup" / name).unlink()
    with pytest.raises(Trouble, match=f"no file .*{name}"):
        Kit(server.folder, "server")


def test_peers_that_say_nothing_hold_nobody_up(server, listening, look, monkeypatch):
    monkeypatch.setattr(wire, "MEASURED_S", 0.3)
    with listening(server) as port:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
        assert look(port)["release"] == "2.9.0"
        for one in silent:
            one.close()


def test_more_peers_than_it_has_room_for_are_turned_away_at_once(server, listening, monkeypatch):
    monkeypatch.setattr("rekindle.reach.listener._MOST", 4)
    before = threading.active_count()
    with listening(server) as port:
        peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
        peers[-1].settimeout(5)
        assert peers[-1].recv(1) == b""
        assert threading.active_count() <= before + 5
        for one in peers:
            one.close()


@pytest.fixture
def run():
    """Return what runs the room's command; gives its exit status and its answer."""

    def command(*words):
        environ = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
        line = [sys.executable, "-m", "rekindle.reach", *map(str, words)]
        done = capture_command(line, env=environ, timeout=60)
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    return command


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def asked(server, port):
    return json.dumps({"kit": str(server.folder), "port": port, "limit_s": 30})


def _free(port):
    with socket.socket() as mine:
        return mine.connect_ex(("127.0.0.1", port)) != 0


def test_it_is_left_behind_until_it_is_ended(tmp_path, run, asked, port):
    assert run("listen", tmp_path / "reach", asked) == (0, {})
    assert not _free(port)
    assert run("listen", tmp_path / "reach", asked) == (0, {})  # in place of the first
    assert not _free(port)
    assert run("end", tmp_path / "reach") == (0, {})
    assert _free(port)
    assert run("end", tmp_path / "reach") == (0, {})


def test_it_ends_with_its_folder(tmp_path, run, asked, port):
    run("listen", tmp_path / "reach", asked)
    (tmp_path / "reach/lock").unlink()
    until(lambda: _free(port))


def test_it_ends_by_itself(tmp_path, run, asked, port):
    run("listen", tmp_path / "reach", json.dumps({**json.loads(asked), "limit_s": 1}))
    until(lambda: _free(port))
    ends = time.monotonic() + 10
    while is_held(tmp_path / "reach/lock"):
        assert time.monotonic() < ends


def test_why_it_does_not_listen_is_said(tmp_path, run, asked, port):
    with socket.create_server(("127.0.0.1", port)):
        status, answer = run("listen", tmp_path / "reach", asked)
    assert status == 1
    assert answer["message"].startswith(f"Port {port} of the server's host is taken by process {os.getpid()}")
    assert answer["fix"]


def test_one_that_dies_as_it_starts_is_said(tmp_path, run):
    status, answer = run("listen", tmp_path / "reach", json.dumps({"kit": 7}))
    assert status == 1
    assert "TypeError" in answer["message"]


def test_a_site_asks_over_the_command_line(tmp_path, run, asked, port, site):
    run("listen", tmp_path / "reach", asked)
    words = {"kit": str(site.folder), "address": "127.0.0.1", "port": port, "limit_s": 30}
    status, answer = run("probe", json.dumps({**words, "release": ""}))
    assert status == 1  # this environment has no NVFlare
    assert answer["message"] == "NVFlare differs: this site has none, the server none."
    run("end", tmp_path / "reach")
