# SPDX-License-Identifier: Apache-2.0
"""Signatures in OpenSSH's format SSHSIG (its PROTOCOL.sshsig), which ``ssh-keygen -Y verify`` checks too."""

import base64
import hashlib
import re
import textwrap
from contextlib import suppress
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from rekindle.records import RecordError

NAMESPACE: Final = b"rekindle"
"""What the signatures are for: no signature of these keys for something else is one of ours."""
_KIND, _HASH = b"ssh-ed25519", b"sha512"
_PUBLIC = slice(33, 65)
"""Where the bytes of the key are in a signature of ours."""
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_ARMOR = re.compile(rf"{_BEGIN}\n([A-Za-z0-9+/=\n]{{1,10000}}){_END}\s*")


class SignatureError(ValueError):
    """A text is no signature, or does not fit what it is beside."""


def generate_key() -> bytes:
    """Return a new private key, as the text of OpenSSH's format."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())


def format_public_key(private: bytes) -> str:
    """Return the public key of a private one, as a line of OpenSSH's format."""
    return _line(_load(private).public_key())


def parse_public_key(text: bytes) -> str | None:
    """Return the key of an OpenSSH public key file without its comment; None if it has no Ed25519 key."""
    try:
        key = load_ssh_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return _line(key) if isinstance(key, Ed25519PublicKey) else None


def format_fingerprint(public: str) -> str:
    """Return a public key's fingerprint, as ``ssh-keygen -l`` prints it."""
    digest = hashlib.sha256(base64.b64decode(public.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def sign_content(content: bytes, private: bytes) -> bytes:
    """Return the signature of ``content`` by an Ed25519 key, as text."""
    key = _load(private)
    blob = _blob(key.public_key().public_bytes_raw(), key.sign(_signed(content)))
    return "\n".join([_BEGIN, *textwrap.wrap(base64.b64encode(blob).decode(), 70), _END, ""]).encode()


def find_signer(content: bytes, signature: bytes) -> str:
    """Return the public key whose signature of ``content`` this is.

    Raises:
        SignatureError: it is of nothing, of something else, or for something else.
    """
    armor = _ARMOR.fullmatch(signature.decode(errors="replace"))
    try:
        blob = base64.b64decode(armor[1] if armor else "")
        public, signed = blob[_PUBLIC], blob[-64:]
        if blob != _blob(public, signed):
            raise SignatureError
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(signed, _signed(content))
    except (ValueError, InvalidSignature):
        raise SignatureError from None
    return _line(key)


def _signed(content: bytes) -> bytes:
    """Return what is signed in place of ``content``."""
    return b"SSHSIG" + _strings(NAMESPACE, b"", _HASH, hashlib.sha512(content).digest())


def _blob(public: bytes, signed: bytes) -> bytes:
    """Return what is armored, of the bytes of a key and of its signature."""
    parts = _strings(_strings(_KIND, public), NAMESPACE, b"", _HASH, _strings(_KIND, signed))
    return b"SSHSIG\0\0\0\1" + parts


def _strings(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _load(private: bytes) -> Ed25519PrivateKey:
    with suppress(ValueError, UnsupportedAlgorithm):
        key = load_ssh_private_key(private, password=None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise RecordError(
        "The controller's own key is no private key of Ed25519, as OpenSSH has them.",
        "bring rekindle/key back in $XDG_STATE_HOME or ~/.local/state, or remove it to have a new one made.",
    )


def _line(key: Ed25519PublicKey) -> str:
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
