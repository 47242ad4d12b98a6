# SPDX-License-Identifier: Apache-2.0
"""A host's request for a certificate, of which its key alone is taken, and the one that NVFlare signs here.

``NAME.request.zip`` of `nvflare cert request` has ``NAME.csr``, ``request.json`` and ``site.yaml``.
"""

import hashlib
import io
import json
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rekindle.host import files
from rekindle.records import Complaint, format_time
from rekindle.records.text import fold_line

LIMIT = 64 << 10
"""Bytes of a host's request; one of NVFlare's has 3,000."""
_MEMBERS = 3
_CSR = 16 << 10
_BITS = range(2048, 4097)
"""Of a key; NVFlare's have 2048."""


def read_request(path: Path, participant: str, subject: str) -> x509.CertificateSigningRequest:
    """Return what a host asks to be signed; nothing else in its request is read.

    Args:
        path: the request, as it came from the host.
        participant: whose it has to be.
        subject: what it has to name, as RFC 4514 writes it.

    Raises:
        Complaint: it asks for anything else, or is no such request.
    """
    try:
        found = x509.load_pem_x509_csr(_member(path, f"{participant}.csr"))
        key, asked, extensions = found.public_key(), found.subject.rfc4514_string(), len(found.extensions)
        own = found.is_signature_valid
    except Exception as error:  # cryptography has many, of which not all are documented
        reason = fold_line(str(error) or type(error).__name__)[:200]
        message = f"The host's request for the certificate of {participant} cannot be read: {reason}"
        raise Complaint(message, "look at the host: it is broken, or not honest.") from None
    if asked != subject or extensions:
        raise Complaint(
            f"The host asked for a certificate of {fold_line(asked)[:200]}, and it is {subject}.",
            "give this host back: it is not honest.",
        )
    if not (own and isinstance(key, RSAPublicKey) and key.key_size in _BITS):
        raise Complaint(
            f"The key in the host's request for the certificate of {participant} is none of NVFlare's.",
            "look at the host: it is broken, or not honest.",
        )
    return found


def _member(path: Path, name: str) -> bytes:
    """Return a member of the archive at ``path``, whatever the archive says of sizes."""
    with zipfile.ZipFile(io.BytesIO(files.read_content(path, LIMIT))) as archive:
        if len(archive.infolist()) > _MEMBERS:
            raise ValueError(f"it has more than {_MEMBERS} files.")
        if name not in archive.namelist():
            raise ValueError(f"it has no {name}.")
        if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed in a way that needs much memory.")
        with archive.open(name) as stream:
            content = stream.read(_CSR + 1)
    if len(content) > _CSR:
        raise ValueError(f"{name} has more than {_CSR} bytes.")
    return content


def make_request(
    csr: x509.CertificateSigningRequest, definition: str, identity: Mapping[str, str]
) -> tuple[bytes, bytes]:
    """Return the request that NVFlare is to sign, and its request.json, which the host needs too.

    Args:
        csr: of `read_request`.
        definition: of the participant, in YAML.
        identity: its ``project``, ``name``, ``org``, ``kind``, ``cert_type`` and, of a user, ``cert_role``.
    """
    asked, site = csr.public_bytes(Encoding.PEM), definition.encode()
    key = csr.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    content = {
        "artifact_type": "nvflare.cert.request",
        "schema_version": "1",
        "request_id": secrets.token_hex(16),
        "created_at": format_time(),
        **identity,
        "csr_sha256": hashlib.sha256(asked).hexdigest(),
        "public_key_sha256": hashlib.sha256(key).hexdigest(),
        "site_yaml_sha256": hashlib.sha256(site).hexdigest(),
    }
    packed, described = io.BytesIO(), json.dumps(content).encode()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("request.json", described)
        archive.writestr("site.yaml", site)
        archive.writestr(f"{identity['name']}.csr", asked)
    return packed.getvalue(), described
