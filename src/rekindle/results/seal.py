# SPDX-License-Identifier: Apache-2.0
"""Seals: signed statements about the files of a run when it was judged, or of a results folder.

A DSSE envelope (payloadType application/vnd.in-toto+json) around a Statement v1 of in-toto, signed by the
controller's Ed25519 key. Its subjects are the files of the folder.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from rekindle.host.files import sha256
from rekindle.records import Record, RecordError, VerdictKind, decodable, decode
from rekindle.records.base import Timestamp

_PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"


class SealedRun(Record, kw_only=True, frozen=True):
    """What a seal states about a run beside its files; digests are SHA-256."""

    host: str
    job: str
    verdict: VerdictKind
    judged: Timestamp
    nonce: str | None = None
    """None, like the digests, if nothing was run."""
    spec: str | None = None
    payload: str | None = None
    lock: str | None = None


class Subject(Record, kw_only=True, frozen=True):
    """A file of the run's folder."""

    name: str
    digest: dict[Literal["sha256"], str]


class _Statement(Record, kw_only=True, frozen=True):
    type_: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(
        name="_type", default="https://in-toto.io/Statement/v1"
    )
    subject: tuple[Subject, ...]


@decodable
class Statement(_Statement, kw_only=True, frozen=True):
    """A Statement v1 of in-toto about a run."""

    predicateType: Literal["urn:x-rekindle:run:1", "urn:x-rekindle:run:2"] = "urn:x-rekindle:run:2"
    """/2: its results folder is sealed too."""
    predicate: SealedRun


class SealedResults(Record, kw_only=True, frozen=True):
    """What a seal states about a results folder beside its files."""

    run: str
    sealed: Timestamp


@decodable
class ResultsStatement(_Statement, kw_only=True, frozen=True):
    """A Statement v1 of in-toto about a results folder."""

    predicateType: Literal["urn:x-rekindle:results:1"] = "urn:x-rekindle:results:1"
    predicate: SealedResults


StatementT = TypeVar("StatementT", Statement, ResultsStatement)


class Signature(Record, frozen=True):
    """A signature, and its key's name."""

    keyid: str
    sig: bytes


@decodable
class Envelope(Record, frozen=True):
    """DSSE's envelope: a statement, byte for byte, and its signature."""

    payload: bytes
    payloadType: Literal["application/vnd.in-toto+json"]
    signatures: tuple[Signature]


class SealError(ValueError):
    """A seal is invalid; the text is the end of a sentence about it."""


def new_key() -> bytes:
    """Return a new private key as PEM."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_key(private_pem: bytes) -> bytes:
    """Return the public key of a private key; both are PEM."""
    return _private(private_pem).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def keyid(public_pem: bytes) -> str:
    """Return the name of a key: the SHA-256 of its 32 bytes.

    Raises:
        SealError: it is not an Ed25519 key.
    """
    return hashlib.sha256(_public(public_pem).public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()


def is_key(pem: bytes) -> bool:
    """Whether ``pem`` is an Ed25519 public key."""
    try:
        keyid(pem)
    except SealError:
        return False
    return True


def make(folder: Path, run: SealedRun, private_pem: bytes) -> bytes:
    """Return the envelope, as JSON, that seals ``run`` and the files in ``folder``."""
    return signed(Statement(subject=subjects(files(folder)), predicate=run), private_pem)


def subjects(digests: Mapping[str, str]) -> tuple[Subject, ...]:
    """Return a statement's subjects from digests by file name."""
    return tuple(Subject(name=name, digest={"sha256": digest}) for name, digest in sorted(digests.items()))


def signed(statement: Statement | ResultsStatement, private_pem: bytes) -> bytes:
    """Return the envelope, as JSON, around a statement."""
    payload = msgspec.json.encode(statement)
    signature = Signature(keyid(public_key(private_pem)), _private(private_pem).sign(_authenticated(payload)))
    return msgspec.json.format(msgspec.json.encode(Envelope(payload, _PAYLOAD_TYPE, (signature,)))) + b"\n"


def opened(
    envelope: bytes,
    public_pems: Iterable[bytes],
    kind: type[StatementT] = Statement,  # type: ignore[assignment]
) -> StatementT:
    """Return the statement in an envelope that one of the keys has signed.

    Raises:
        SealError: it is no such envelope or statement, or another key has signed it.
    """
    try:
        outer = decode(envelope, Envelope)
    except RecordError:
        raise SealError("is not a seal, or not a complete one") from None
    (signature,) = outer.signatures
    signer = next((_public(pem) for pem in public_pems if keyid(pem) == signature.keyid), None)
    if signer is None:
        raise SealError(f"is signed by another key, {short(signature.keyid)!r}")
    try:
        signer.verify(signature.sig, _authenticated(outer.payload))
        return decode(outer.payload, kind)
    except InvalidSignature:
        raise SealError("was altered: its signature does not fit") from None
    except RecordError:
        raise SealError("seals something else") from None


def sealed_files(statement: Statement | ResultsStatement) -> dict[str, str]:
    """Return the SHA-256 of each file by name, as it was sealed."""
    return {file.name: file.digest.get("sha256", "") for file in statement.subject}


def differences(sealed: Mapping[str, str], here: Mapping[str, str]) -> Iterator[str]:
    """Yield each file that differs from its seal; both are SHA-256 by name."""
    for name in sorted(sealed.keys() | here.keys()):
        if name not in here:
            yield f"{name} is missing"
        elif name not in sealed:
            yield f"{name} was added"
        elif here[name] != sealed[name]:
            yield f"{name} was altered"


def short(keyid: str) -> str:
    """Return a key's name, shortened for people."""
    return keyid[:16]


def _authenticated(payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding, which is signed."""
    kind = _PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def files(folder: Path, but: Collection[Path] = ()) -> dict[str, str]:
    """Return the SHA-256 of every file in ``folder`` but those in ``but``; empty for irregular files."""
    digests = {}
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(base, name) not in but]
        links = [name for name in folders if Path(base, name).is_symlink()]
        for path in (Path(base, name) for name in (*names, *links)):
            if path in but:
                continue
            plain = path.is_file() and not path.is_symlink()
            with suppress(FileNotFoundError):  # a partial one, of a playbook that is writing
                digests[path.relative_to(folder).as_posix()] = sha256(path) if plain else ""
    return digests


def _private(pem: bytes) -> Ed25519PrivateKey:
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError("cannot be made, as the controller's key is not an Ed25519 key")
    return key


def _public(pem: bytes) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise SealError("cannot be checked: that is not a public key of Ed25519")
    return key
