# SPDX-License-Identifier: Apache-2.0
"""The identity in a kit of NVFlare's: certificate, key and CA, and how long they are valid."""

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rekindle.host import files

from . import Trouble

_LIMIT = 1 << 20
_ANY_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME: clocks are compared first, and then certificates with them."""
_AGAIN = "provision the federation again, which makes this host a new kit."

Certificate = Mapping[str, Any]
"""As `ssl.SSLSocket.getpeercert` returns it."""


@dataclass(frozen=True)
class Kit:
    """A kit on this host."""

    folder: Path
    role: Literal["server", "client"]

    def __post_init__(self) -> None:
        """Look whether all is there.

        Raises:
            Trouble: a file is missing.
        """
        for name in ("rootCA.pem", f"{self.role}.crt", f"{self.role}.key", f"fed_{self.role}.json"):
            if not self._file(name).is_file():
                raise Trouble(f"The kit has no file {self._file(name)}.", _AGAIN)

    def _file(self, name: str) -> Path:
        return self.folder / "startup" / name

    def context(self, *, as_server: bool | None = None, asks: bool = True) -> ssl.SSLContext:
        """Return a context for mutual TLS 1.2 or newer with this kit, in which the time does not count.

        Args:
            as_server: of a connection's server; None: what the kit is.
            asks: whether the peer needs a certificate of the kit's CA.

        Raises:
            Trouble: its files do not fit each other.
        """
        as_server = self.role == "server" if as_server is None else as_server
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if as_server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False  # NVFlare goes by the certificate's CN
        context.verify_mode = ssl.CERT_REQUIRED if asks else ssl.CERT_NONE
        context.verify_flags |= _ANY_TIME
        try:
            context.load_cert_chain(
                self._file(f"{self.role}.crt"), self._file(f"{self.role}.key"), lambda: ""
            )
            context.load_verify_locations(self._file("rootCA.pem"))
        except (OSError, ValueError) as error:
            raise Trouble(f"The files in {self.folder}/startup do not fit: {error}.", _AGAIN) from None
        return context

    def require(self, whose: str, now: float) -> None:
        """Look whether certificate and CA fit and are valid at the time ``now``.

        Raises:
            Trouble: they are not.
        """
        require_valid(self._own(), f"The certificate of the {whose} kit", now)
        for authority in self.context().get_ca_certs()[:1]:
            require_valid(authority, f"The CA's certificate in the {whose} kit", now)

    def _own(self) -> Certificate:
        """Return its certificate as a peer with its CA sees it; nothing is sent."""
        asks = self.role == "client"  # the server in this pair is the one that sees it
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = self.context(as_server=True, asks=asks).wrap_bio(there, back, server_side=True)
        client = self.context(as_server=False, asks=not asks).wrap_bio(back, there)
        try:
            for side in (client, server, client, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", error.reason)
            message = f"{self._file(self.role)}.crt is not of the CA beside it: {why}."
            raise Trouble(message, _AGAIN) from None
        return (server if asks else client).getpeercert() or {}

    def identity(self) -> str:
        """Return the name that the server's certificate has to have, by a site's kit.

        Raises:
            Trouble: it names none.
        """
        path = self._file("fed_client.json")
        try:
            return str(json.loads(files.read_content(path, _LIMIT))["servers"][0]["identity"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            raise Trouble(f"{path} names no server.", _AGAIN) from None


def read_common_name(certificate: Certificate) -> str:
    """Return the CN of a certificate; empty if it has none."""
    names = (pair for group in certificate.get("subject", ()) for pair in group)
    return next((str(value) for name, value in names if name == "commonName"), "")


def require_valid(certificate: Certificate, whose: str, now: float) -> None:
    """Look whether a certificate is valid at the time ``now``.

    Raises:
        Trouble: it has expired, or is not valid yet; NVFlare is silent about both.
    """
    begins, ends = (ssl.cert_time_to_seconds(certificate[name]) for name in ("notBefore", "notAfter"))
    clock = f"this host's clock says {_shown(now)}"
    if now > ends:
        message = f"{whose} has expired at {_shown(ends)}; {clock}."
        raise Trouble(message, "provision the federation again, which renews it.")
    if now < begins:
        message = f"{whose} is not valid before {_shown(begins)}; {clock}."
        raise Trouble(message, "set this host's clock, or wait until then.")


def _shown(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
