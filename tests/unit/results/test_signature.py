# SPDX-License-Identifier: Apache-2.0
"""Signatures: OpenSSH checks ours, we check OpenSSH's, and no other text is one."""

import base64
import shutil
import subprocess

import pytest

from rekindle.results import signature

CONTENT = b"digests\n"
PRIVATE = signature.generate_key()
SIGNED = signature.sign_content(CONTENT, PRIVATE)
BLOB = base64.b64decode(b"".join(SIGNED.splitlines()[1:-1]))
OPENSSH = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="there is no ssh-keygen")


def armored(blob):
    return b"-----BEGIN SSH SIGNATURE-----\n%b\n-----END SSH SIGNATURE-----\n" % base64.b64encode(blob)


def ssh_keygen(*arguments, content=b""):
    return subprocess.run(
        ["ssh-keygen", *map(str, arguments)], input=content, capture_output=True, check=False
    )


@pytest.fixture
def key(tmp_path):
    """Return the path of a private key file, as ssh wants it."""
    path = tmp_path / "key"
    path.write_bytes(PRIVATE)
    path.chmod(0o600)
    return path


def test_a_signature_is_by_its_key_and_of_its_content_alone():
    assert signature.find_signer(CONTENT, SIGNED) == signature.format_public_key(PRIVATE)
    with pytest.raises(signature.SignatureError):
        signature.find_signer(b"other digests\n", SIGNED)


@OPENSSH
@pytest.mark.parametrize(("content", "status"), [(CONTENT, 0), (b"other digests\n", 255)])
def test_openssh_checks_it(tmp_path, content, status):
    (tmp_path / "signers").write_text(f"controller {signature.format_public_key(PRIVATE)}\n")
    (tmp_path / "sig").write_bytes(SIGNED)
    options = ("-f", tmp_path / "signers", "-I", "controller", "-n", "rekindle", "-s", tmp_path / "sig")
    assert ssh_keygen("-Y", "verify", *options, content=content).returncode == status


@OPENSSH
@pytest.mark.parametrize(("namespace", "ours"), [("rekindle", True), ("file", False)])
def test_openssh_makes_the_same_with_that_key_and_for_nothing_else(key, namespace, ours):
    made = ssh_keygen("-Y", "sign", "-f", key, "-n", namespace, content=CONTENT).stdout
    assert (made == SIGNED) is ours
    if not ours:
        with pytest.raises(signature.SignatureError):
            signature.find_signer(CONTENT, made)


@OPENSSH
def test_a_fingerprint_is_openssh_s(key):
    line = ssh_keygen("-l", "-f", key).stdout.decode()
    assert line.split()[1] == signature.format_fingerprint(signature.format_public_key(PRIVATE))


def test_a_public_key_file_may_have_a_comment_and_no_other_kind_of_key():
    line = signature.format_public_key(PRIVATE)
    assert signature.parse_public_key(f"{line} someone@here\n".encode()) == line
    for text in (b"", PRIVATE, b"ssh-ed25519 AAAA", b"\xff", line.replace("ed25519", "rsa").encode()):
        assert signature.parse_public_key(text) is None


DAMAGED = {
    "empty": b"",
    "half": SIGNED[: len(SIGNED) // 2],
    "no base64": SIGNED.replace(SIGNED.splitlines()[1], b"=AAA"),
    "long": b"-----BEGIN SSH SIGNATURE-----\n" + b"A" * 100_000,
    "no key": armored(BLOB[:10]),
    "version": armored(BLOB[:9] + b"\2" + BLOB[10:]),
    "length": armored(BLOB[:10] + b"\xff" + BLOB[11:]),
    "key": armored(BLOB.replace(b"ssh-ed25519", b"ssh-ed25518", 1)),
    "hash": armored(BLOB.replace(b"sha512", b"sha256")),
    "last byte": armored(BLOB[:-1] + bytes([BLOB[-1] ^ 1])),
    "more": armored(BLOB + b"\0\0\0\0"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_damaged_is_no_signature(damage):
    with pytest.raises(signature.SignatureError):
        signature.find_signer(CONTENT, DAMAGED[damage])
