# SPDX-License-Identifier: Apache-2.0
"""Whom a site takes for its server, and a server for its site: certificates, clocks, releases and kits."""

import shutil
import socket
import ssl
import time
from datetime import timedelta

import pytest

from rekindle.reach import Trouble, wire
from rekindle.reach.kit import Kit

DAY = timedelta(days=1)
HERE = "127.0.0.1"


def behind(**other):
    """Return a clock that is behind."""
    return lambda: time.time() - timedelta(**other).total_seconds()


def test_a_server_of_another_ca(told, listening, foreign):
    with listening(foreign.kit("server", "server")) as port:
        told(port)


def test_a_site_of_another_ca(told, listening, server, foreign, authority):
    site = foreign.kit("client", "site-1")
    shutil.copy(
        authority.folder / "server/startup/rootCA.pem", site.folder / "startup"
    )  # so it trusts the server
    kit = Kit(site.folder, "client")
    with listening(server) as port:
        told(port, kit=kit)


def test_another_server_of_the_same_ca(told, listening, authority):
    with listening(authority.kit("server", "elsewhere")) as port:
        told(port)


def test_a_site_without_a_certificate_of_its_own_gets_nothing(listening, server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    refused = pytest.raises((ssl.SSLError, ConnectionError))
    with (
        listening(server) as port,
        refused,
        context.wrap_socket(socket.create_connection((HERE, port))) as peer,
    ):
        wire.hear_line(peer)


def test_clocks_that_differ(told, listening, server):
    with listening(server, now=behind(hours=1)) as port:
        told(port)


@pytest.mark.parametrize(
    "lifetime", [(-3 * DAY, -2 * DAY), (2 * DAY, 3 * DAY)], ids=["expired", "not yet valid"]
)
@pytest.mark.parametrize("whose", ["site", "server"])
def test_a_certificate_out_of_its_time(look, listening, authority, lifetime, whose):
    served = authority.kit("server", "server", *(lifetime if whose == "server" else ()))
    kit = authority.kit("client", "site-2", *(lifetime if whose == "site" else ()))
    with listening(served, unchecked=True) as port, pytest.raises(Trouble) as trouble:
        look(port, kit=kit)
    assert ("has expired at" if lifetime[0] < DAY else "is not valid before") in trouble.value.message
    assert ("the site's kit" if whose == "site" else f":{port}") in trouble.value.message


def test_a_ca_out_of_its_time(look, listening, tmp_path, certify):
    old = certify(tmp_path / "old", ends=-DAY / 2)
    with (
        listening(old.kit("server", "server"), unchecked=True) as port,
        pytest.raises(Trouble, match="CA's certificate in the site's"),
    ):
        look(port, kit=old.kit("client", "site-1"))


@pytest.mark.parametrize("here", ["2.7.3", ""])
def test_another_release_of_nvflare(told, listening, server, here):
    with listening(server) as port:
        told(port, has=here)


def test_a_release_that_is_not_the_planned_one(told, listening, server):
    with listening(server) as port:
        told(port, planned="2.8.3")


@pytest.mark.parametrize("name", ["client.crt", "client.key", "rootCA.pem", "fed_client.json"])
def test_a_kit_that_lacks_a_file(site, name):
    (site.folder / "startup" / name).unlink()
    with pytest.raises(Trouble, match=f"no file .*{name}"):
        Kit(site.folder, "client")


def test_a_key_of_another_certificate(look, listening, server, site, authority):
    shutil.copy(authority.kit("client", "site-2").folder / "startup/client.key", site.folder / "startup")
    with listening(server) as port, pytest.raises(Trouble, match="do not fit"):
        look(port)


def test_a_kit_without_a_servers_name(look, listening, server, site):
    (site.folder / "startup/fed_client.json").write_text('{"servers": []}')
    with listening(server) as port, pytest.raises(Trouble, match="names no server"):
        look(port)
