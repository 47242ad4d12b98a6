# SPDX-License-Identifier: Apache-2.0
"""A host chooses its key, and nothing else of what the controller signs."""

import json
import os
import zipfile

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from samples.certificate_requests import KEY, Signer, csr, packed

from rekindle.federation import certificates
from rekindle.federation.authority import ADMIN, Authority, read_certificate
from rekindle.federation.request import LIMIT
from rekindle.records import Complaint

SERVER = {"address": "192.0.2.10", "port": 8002, "scheme": "tcp"}
SAN = x509.SubjectAlternativeName([x509.DNSName("192.0.2.10")])


@pytest.fixture
def signer(monkeypatch):
    return Signer.in_place(monkeypatch)


@pytest.fixture
def ours(tmp_path, signer):
    return Authority(tmp_path / "state", "rekindle", "2.9.0", SERVER, lease="one")


def refused(authority, path, participant="gpu-1"):
    with pytest.raises(Complaint) as caught:
        authority.sign(path, participant, 30)
    assert caught.value.fix
    assert not list(authority.folder.glob("*.signed.zip"))
    return caught.value.message


@pytest.mark.parametrize(
    ("participant", "role"), [("gpu-1", "client"), ("192.0.2.10", "server"), (ADMIN, "lead")]
)
def test_what_a_participant_is_asked_for_is_signed(ours, signer, tmp_path, participant, role):
    path = packed(tmp_path / "r.zip", {f"{participant}.csr": csr(CN=participant, role=role)})
    signed = certificates.parse_certificate(read_certificate(ours.sign(path, participant, 30)))
    assert signed.identity.subject == certificates.make_subject(participant, "rekindle", role)
    described = json.loads((ours.folder / f"{participant}.request.json").read_text())
    assert described == signer.asked
    assert (described["name"], described["cert_type"], described["project"]) == (
        participant,
        role,
        "rekindle",
    )


def test_what_a_host_says_beside_its_key_is_not_read(ours, signer, tmp_path):
    lies = {"name": ADMIN, "kind": "user", "cert_type": "lead", "cert_role": "lead", "project": "other"}
    members = {"gpu-1.csr": csr(), "request.json": json.dumps(lies), "site.yaml": "participants: [{}]"}
    ours.sign(packed(tmp_path / "r.zip", members), "gpu-1", 30)
    asked = {name: signer.asked.get(name) for name in ("name", "kind", "cert_type", "cert_role", "project")}
    assert asked == {"name": "gpu-1", "kind": "site", "cert_type": "client", "cert_role": None,
                     "project": "rekindle"}  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [
        {"CN": ADMIN, "role": "lead"},
        {"CN": "192.0.2.10", "role": "server"},
        {"CN": "gpu-2"},
        {"role": "lead"},
        {"role": "server"},
        {"role": ""},
        {"O": "other"},
        {"O": ""},
        {"extensions": [SAN]},
    ],
    ids=str,
)
def test_a_request_for_anything_else_is_refused(ours, tmp_path, parts):
    path = packed(tmp_path / "r.zip", {"gpu-1.csr": csr(**parts)})
    assert refused(ours, path).startswith("The host asked for a certificate of ")


@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65537, 1024), ec.generate_private_key(ec.SECP256R1())],
    ids=["short", "of a curve"],
)
def test_a_key_that_nvflare_does_not_make_is_refused(ours, tmp_path, key):
    assert "is none of NVFlare's" in refused(ours, packed(tmp_path / "r.zip", {"gpu-1.csr": csr(key)}))


@pytest.mark.parametrize(
    ("members", "how", "reason"),
    [
        ({"gpu-2.csr": csr()}, zipfile.ZIP_DEFLATED, "it has no gpu-1.csr."),
        ({"gpu-1.csr": b"\0" * (20 << 20)}, zipfile.ZIP_DEFLATED, "gpu-1.csr has more than 16384 bytes."),
        ({"gpu-1.csr": csr(), "a": "", "b": "", "c": ""}, zipfile.ZIP_DEFLATED, "it has more than 3 files."),
        ({"gpu-1.csr": csr()}, zipfile.ZIP_LZMA, "gpu-1.csr is packed in a way that needs much memory."),
        ({"gpu-1.csr": "not one"}, zipfile.ZIP_DEFLATED, ""),
        ({"gpu-1.csr": csr(), "a": os.urandom(LIMIT)}, zipfile.ZIP_STORED, "it has more than 65536 bytes"),
    ],
    ids=["missing", "large inside", "many", "lzma", "no request", "large"],
)
def test_a_request_is_bounded_before_it_is_read(ours, tmp_path, members, how, reason):
    assert reason in refused(ours, packed(tmp_path / "r.zip", members, how))


@pytest.mark.parametrize("content", [b"", b"PK\5\6" + b"\0" * 18, b"{}", os.urandom(5000)])
def test_what_is_no_archive_is_refused(ours, tmp_path, content):
    (tmp_path / "r.zip").write_bytes(content)
    refused(ours, tmp_path / "r.zip")


def test_a_pipe_in_the_place_of_a_request_is_refused_at_once(ours, tmp_path):
    os.mkfifo(tmp_path / "r.zip")
    refused(ours, tmp_path / "r.zip")


@pytest.mark.parametrize(
    "lies", [{"CN": "gpu-2"}, {"role": "lead"}, {"O": "other"}, {"hosts": ["gpu-1", "192.0.2.10"]}], ids=str
)
def test_what_was_signed_is_compared_again(ours, signer, tmp_path, lies):
    signer.lies = lies
    with pytest.raises(Complaint, match="The certificate of gpu-1 is for "):
        ours.sign(packed(tmp_path / "r.zip", {"gpu-1.csr": csr()}), "gpu-1", 30)


def test_a_certificate_that_a_host_shows_is_its_own_and_of_this_leases_authority(ours, tmp_path):
    shown = {}
    for name, role in (("gpu-1", "client"), ("gpu-2", "client"), (ADMIN, "lead")):
        path = packed(tmp_path / "r.zip", {f"{name}.csr": csr(CN=name, role=role)})
        shown[name] = read_certificate(ours.sign(path, name, 30))
    assert ours.require(shown["gpu-1"], "gpu-1").name == "gpu-1"
    for other in ("gpu-2", ADMIN):
        with pytest.raises(Complaint, match="The certificate of gpu-1 is for "):
            ours.require(shown[other], "gpu-1")
    later = Authority(tmp_path / "state", "rekindle", "2.9.0", SERVER, lease="two")
    with pytest.raises(Complaint, match="is not of the authority of this lease"):
        later.require(shown["gpu-1"], "gpu-1")


def test_each_lease_has_an_authority_and_keeps_it(ours, tmp_path):
    def again(**changed):
        given = {"name": "rekindle", "release": "2.9.0", "server": SERVER, "lease": "one", **changed}
        return Authority(tmp_path / "state", **given)

    assert again().root() == ours.root()
    others = [
        again(lease="two"),
        again(release="2.8.3"),
        again(name="b"),
        again(server={**SERVER, "port": 1}),
    ]
    assert len({one.folder for one in [ours, *others]}) == 5


def test_an_authority_that_has_expired_is_removed_with_its_key(ours, tmp_path):
    ours.root()
    long_ago = ours.folder.stat().st_mtime - 361 * 86400
    os.utime(ours.folder, (long_ago, long_ago))
    Authority(tmp_path / "state", "rekindle", "2.9.0", SERVER, lease="two").root()
    assert not ours.folder.exists()


def test_a_key_alone_is_the_hosts(ours, tmp_path):
    signed = read_certificate(ours.sign(packed(tmp_path / "r.zip", {"gpu-1.csr": csr()}), "gpu-1", 30))
    assert x509.load_pem_x509_certificate(signed).public_key() == KEY.public_key()
