"""What a kit of NVFlare's says who its host is: certificate, key and CA, and how long they are valid."""

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
"""X509_V_FLAG_NO_CHECK_TIME: the clocks are compared first, and only then certificates with them."""
_AGAIN = "provision the federation again, which makes this host's kit anew."

Certificate = Mapping[str, Any]
"""As `ssl.SSLSocket.getpeercert` returns it."""


@dataclass(frozen=True)
class Kit:
    """A kit on this host."""

    folder: Path
    role: Literal["server", "client"]

    def require(self) -> None:
        """Look whether all is there.

        Raises:
            Trouble: a file is missing, or is none.
        """
        names = ["rootCA.pem", f"{self.role}.crt", f"{self.role}.key", f"fed_{self.role}.json"]
        for path in (self.folder / "startup" / name for name in names):
            try:
                files.content(path, _LIMIT)
            except OSError as error:
                raise Trouble(f"The kit has no {path}: {error.strerror}.", _AGAIN) from None

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
        mine = self.folder / "startup"
        try:
            context.load_cert_chain(mine / f"{self.role}.crt", mine / f"{self.role}.key", lambda: "")
            context.load_verify_locations(mine / "rootCA.pem")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise Trouble(f"Certificate, key and CA in {mine} do not fit: {error}.", _AGAIN) from None
        return context

    def own(self) -> Certificate:
        """Return the kit's own certificate, as a peer with the kit's CA sees it; nothing is sent.

        Raises:
            Trouble: it is of another CA.
        """
        asks = self.role == "client"  # the side that sees it
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
            message = f"{self.folder}/startup/{self.role}.crt is not of the CA beside it: {why}."
            raise Trouble(message, _AGAIN) from None
        return (server if asks else client).getpeercert() or {}

    def authority(self) -> Certificate:
        """Return its CA's certificate."""
        found = self.context().get_ca_certs()
        return found[0] if found else {}

    def identity(self) -> str:
        """Return the name that the server's certificate has to have, by a site's kit.

        Raises:
            Trouble: it names none.
        """
        path = self.folder / "startup" / "fed_client.json"
        try:
            return str(json.loads(files.content(path, _LIMIT))["servers"][0]["identity"])
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise Trouble(f"{path} names no server.", _AGAIN) from None


def common_name(certificate: Certificate) -> str:
    """Return the CN of a certificate; empty if it has none."""
    names = (pair for group in certificate.get("subject", ()) for pair in group)
    return next((str(value) for name, value in names if name == "commonName"), "")


def require_valid(certificate: Certificate, whose: str, now: float) -> None:
    """Look whether a certificate is valid at the time ``now``.

    Raises:
        Trouble: it has expired, or is not valid yet; NVFlare is silent about both.
    """
    begins, ends = (ssl.cert_time_to_seconds(certificate[name]) for name in ("notBefore", "notAfter"))
    if now > ends:
        message = f"{whose} has expired at {_shown(ends)}; this host's clock says {_shown(now)}."
        raise Trouble(message, "provision the federation again, which renews it.")
    if now < begins:
        message = f"{whose} is not valid before {_shown(begins)}; this host's clock says {_shown(now)}."
        raise Trouble(message, "set this host's clock, or wait until then.")


def _shown(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
