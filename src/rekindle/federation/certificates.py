# SPDX-License-Identifier: Apache-2.0
"""Certificates of a federation: whom one names, and what is wrong with it."""

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtensionOID, NameOID

from rekindle.records import RecordError


class Identity(NamedTuple):
    """Whom a certificate names, completely."""

    subject: str
    """All of it, as RFC 4514 writes it."""
    hosts: frozenset[str] = frozenset()
    """Its alternative names."""


class Certificate(NamedTuple):
    """What a certificate names, and when it is valid."""

    name: str
    """Common name."""
    identity: Identity
    fingerprint: str
    """SHA-256, in hexadecimal."""
    not_before: datetime
    not_after: datetime

    def flaw(self, until: datetime, now: datetime) -> str | None:
        """Return why it is not valid from ``now`` to ``until``, one clause; None if it is."""
        if now < self.not_before:
            return f"is not valid before {self.not_before:%Y-%m-%d %H:%M} UTC"
        if self.not_after <= now:
            return f"expired at {self.not_after:%Y-%m-%d %H:%M} UTC"
        if self.not_after < until:
            return f"expires at {self.not_after:%Y-%m-%d %H:%M} UTC, before the lease ends"
        return None


_NAME = re.compile(r"\w[\w@.-]{0,63}", re.ASCII)
"""A certificate has room for 64 characters; the name is a folder's, too."""


def parse_certificate(pem: bytes) -> Certificate:
    """Return what the first certificate in ``pem`` is.

    Raises:
        RecordError: there is none.
    """
    try:
        found = x509.load_pem_x509_certificate(pem)
        identity = Identity(found.subject.rfc4514_string(), _hosts(found))
        fingerprint = found.fingerprint(SHA256()).hex()
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
    except (
        ValueError,
        x509.DuplicateExtension,
        x509.UnsupportedGeneralNameType,
        x509.InvalidVersion,
    ) as error:
        reason = str(error).partition(".")[0]
        raise RecordError(f"That is not a certificate: {reason}.", "provision it again.") from None
    return Certificate(_common(found.subject), identity, fingerprint, begins, ends)


def require_name(name: str) -> None:
    """Require that a participant may have a name.

    Raises:
        RecordError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise RecordError(
            f"{name[:100]!r} is no name of a site.", "use up to 64 letters, digits, dashes and dots."
        )


def make_subject(name: str, org: str, role: str | None = None) -> str:
    """Return the subject of a certificate of NVFlare's, as RFC 4514 writes it.

    It raises what `require_name` does.
    """
    require_name(name)
    parts = [(NameOID.COMMON_NAME, name), (NameOID.ORGANIZATION_NAME, org), (NameOID.UNSTRUCTURED_NAME, role)]
    return x509.Name([x509.NameAttribute(oid, of) for oid, of in parts if of]).rfc4514_string()


def is_signed_by(pem: bytes, authority: bytes) -> bool:
    """Return whether the certificate ``authority`` signed the one in ``pem``."""
    try:
        x509.load_pem_x509_certificate(pem).verify_directly_issued_by(
            x509.load_pem_x509_certificate(authority)
        )
    except Exception:
        return False
    return True


def _common(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


def _hosts(found: x509.Certificate) -> frozenset[str]:
    named = [one.value for one in found.extensions if one.oid == ExtensionOID.SUBJECT_ALTERNATIVE_NAME]
    return frozenset(str(name.value) for names in named for name in names)


def count_days(moment: datetime, now: datetime) -> int:
    """Return the full days of a certificate that is to be valid until ``moment``, and a day longer."""
    return max(1, -((now - moment) // timedelta(days=1)) + 1)
