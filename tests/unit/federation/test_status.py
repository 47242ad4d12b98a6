# SPDX-License-Identifier: Apache-2.0
"""What `rekindle federate --status` shows of hosts, and each thing that can be wrong."""

from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec.structs import replace

from rekindle.federation.records import MemberRecord, Participant, make_member
from rekindle.federation.status import describe_federation, describe_member
from rekindle.federation.view import format_federation
from rekindle.records import Clock

SINCE = 1795645315.0


KEYS = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]


def certificate(days, name="gpu-1", key=0):
    """Return a certificate by an authority with this key that is valid for so many days, as PEM."""
    now, issuer = datetime.now(timezone.utc), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "f")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(issuer, subject, KEYS[key].public_key(), 1)
    made = builder.not_valid_before(now - timedelta(days=9)).not_valid_after(now + timedelta(days=days))
    return made.sign(KEYS[key], hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


AUTHORITY, OTHER = certificate(9, "f"), certificate(9, "f", 1)


def one(name, role="site", offset_s=0.2, **found):
    participant = Participant(
        role=role, kit=f"/kits/{name}", admin="/kits/admin" if role == "server" else None,
        address="s", port=1, sites=(),
    )  # fmt: skip
    record = MemberRecord(python="/p", payload="/q", member=make_member(name, 0, participant))
    usual = {
        "certificate": certificate(3, name),
        "authority": AUTHORITY,
        "modes": ["0600"],
        "release": "2.9.0",
    }
    clock = Clock(offset_s=offset_s, error_s=0.01, asked="2026-11-25T22:28:00Z")
    return describe_member(name, record, {**usual, "since": SINCE, "clients": {}, **found}, clock)


SERVER = one("cpu-1", "server", clients={"gpu-1": SINCE + 1})


def flaws(site, server=SERVER):
    found = describe_federation("f", ["cpu-1", "gpu-1"], {"cpu-1": server, "gpu-1": site})
    assert found.hosts[0].flaws == ()
    return found.hosts[1].flaws


def test_nothing_is_wrong_with_a_federation_that_is_up_nor_with_one_that_is_not():
    assert flaws(one("gpu-1")) == ()
    assert flaws(one("gpu-1", since=None), replace(SERVER, since=None, heard={})) == ()


@pytest.mark.parametrize(
    ("found", "flaw"),
    [
        ({"certificate": certificate(-1)}, "its certificate expired at "),
        ({"modes": ["0600", "0644"]}, "a key has the mode 0644"),
        ({"offset_s": -3600.0}, "its clock is -3600 s off"),
        (
            {"authority": OTHER, "certificate": certificate(3, key=1)},
            "its certificate is of another authority than the server's",
        ),
        ({"certificate": certificate(3, key=1)}, "its certificate is not of its authority"),
        ({"certificate": certificate(3, "gpu-2")}, "its certificate is that of gpu-2"),
        ({"release": "2.7.3"}, "it has NVFlare 2.7.3, and the server 2.9.0"),
        ({"since": None}, "the server is up, and it is not"),
    ],
)
def test_what_is_wrong_with_a_site_is_one_clause(found, flaw):
    (seen,) = flaws(one("gpu-1", **found))
    assert seen.startswith(flaw)


def test_a_site_that_is_up_and_not_connected_is_named():
    assert flaws(one("gpu-1"), replace(SERVER, heard={})) == ("it is up, and not connected",)


def test_a_server_that_does_not_answer_is_named():
    found = one("cpu-1", "server", clients=None)
    assert (found.heard, found.flaws) == ({}, ("it is up, and does not answer",))


def test_a_host_without_a_kit_and_one_out_of_reach_are_told_apart():
    found = describe_federation("f", ["cpu-1", "gpu-1", "gpu-2"], {"cpu-1": SERVER, "gpu-1": None})
    assert [host.flaws for host in found.hosts] == [(), ("has no kit",), ("was not reached",)]
    assert not found.good


def test_the_text_has_a_row_a_host_and_the_kit_of_who_submits():
    found = describe_federation(
        "f", ["cpu-1", "gpu-1"], {"cpu-1": SERVER, "gpu-1": one("gpu-1", modes=["0640"])}
    )
    text = format_federation(found, 120, False)
    assert text.startswith("The federation f is up on 2 of 2 hosts; 1 wrong.")
    assert "connected" in text
    assert text.splitlines()[-2:] == [
        "gpu-1: a key has the mode 0640.",
        "Jobs are submitted on cpu-1 with the kit /kits/admin.",
    ]
