# SPDX-License-Identifier: Apache-2.0
"""Requests as hosts make them, and what signs as NVFlare does: whatever request.json asks for."""

import json
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from rekindle.federation.authority import Authority

KEY = rsa.generate_private_key(65537, 2048)
_OIDS = {"CN": NameOID.COMMON_NAME, "O": NameOID.ORGANIZATION_NAME, "role": NameOID.UNSTRUCTURED_NAME}
PEM = serialization.Encoding.PEM


def subject(**parts):
    """Return a name of these parts."""
    return x509.Name([x509.NameAttribute(_OIDS[name], of) for name, of in parts.items() if of])


def csr(key=KEY, extensions=(), **parts):
    """Return a certificate signing request of these parts as PEM; by default that of the site gpu-1."""
    named = subject(**{"CN": "gpu-1", "O": "rekindle", "role": "client", **parts})
    builder = x509.CertificateSigningRequestBuilder(named)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(PEM)


def packed(path, members, how=zipfile.ZIP_DEFLATED):
    """Write an archive of these members, and return its path."""
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


class Signer:
    """In place of NVFlare's commands on the controller; ``lies`` are parts that it signs instead."""

    def __init__(self):
        self._keys, self.lies, self.asked = {}, {}, None

    @classmethod
    def in_place(cls, monkeypatch):
        """Have authorities call a new one."""
        signer = cls()
        monkeypatch.setattr(Authority, "_nvflare", lambda *words: signer._do(*words))  # noqa: PLW0108 - a method
        return signer

    def _do(self, authority, *words):
        done = {("cert", "init"): self._init, ("cert", "approve"): self._approve}[words[:2]]
        done(authority, *words[2:])

    def _certificate(self, authority, name, key, hosts=(), days=360):
        now = datetime.now(timezone.utc)
        issuer = subject(CN="rekindle")
        builder = x509.CertificateBuilder(issuer, name, key, 1, now, now + timedelta(days=days))
        if hosts:
            names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._keys[authority.folder], hashes.SHA256()).public_bytes(PEM)

    def _init(self, authority, *words):
        folder = authority.folder / "ca"
        folder.mkdir()
        (folder / "rootCA.key").touch()
        key = self._keys[authority.folder] = rsa.generate_private_key(65537, 2048)
        root = self._certificate(authority, subject(CN="rekindle"), key.public_key())
        (folder / "rootCA.pem").write_bytes(root)

    def _approve(self, authority, request, *words):
        with zipfile.ZipFile(request) as archive:
            self.asked = json.loads(archive.read("request.json"))
            key = x509.load_pem_x509_csr(archive.read(f"{self.asked['name']}.csr")).public_key()
        parts = {"CN": self.asked["name"], "O": self.asked["org"], "role": self.asked["cert_type"]}
        hosts = self.lies.get("hosts", [self.asked["name"]])
        parts |= {name: of for name, of in self.lies.items() if name != "hosts"}
        days = words[words.index("--valid-days") + 1]
        signed = self._certificate(authority, subject(**parts), key, hosts, days)
        packed(Path(words[words.index("--out") + 1]), {f"{self.asked['name']}.crt": signed})
