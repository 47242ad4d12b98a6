# SPDX-License-Identifier: Apache-2.0
"""Kits as NVFlare provisions them, with certificates made here, and a listener on loopback."""

import json
import threading
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rekindle.reach import Trouble
from rekindle.reach.kit import Kit
from rekindle.reach.listener import Listener
from rekindle.reach.probe import Probe

DAY = timedelta(days=1)


def _now():
    return datetime.now(timezone.utc)


class Authority:
    """A CA that issues kits below ``folder``."""

    def __init__(self, folder, begins=-DAY, ends=30 * DAY):
        self.folder, self.key = folder, ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "project")])
        self.certificate = self.issue(self.key, "project", begins, ends, ca=True)

    def issue(self, key, name, begins, ends, ca=False):
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self.name)
        builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(_now() + begins).not_valid_after(_now() + ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        return builder.sign(self.key, hashes.SHA256())

    def kit(self, role, name, begins=-DAY, ends=7 * DAY, server="server"):
        """Return the kit of a participant ``name``."""
        folder, key = self.folder / name, ec.generate_private_key(ec.SECP256R1())
        startup = folder / "startup"
        startup.mkdir(parents=True)
        pem = serialization.Encoding.PEM
        plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        (startup / "rootCA.pem").write_bytes(self.certificate.public_bytes(pem))
        certificate = self.issue(key, name, begins, ends)
        (startup / f"{role}.crt").write_bytes(certificate.public_bytes(pem))
        (startup / f"{role}.key").write_bytes(key.private_bytes(pem, *plain))
        (startup / f"fed_{role}.json").write_text(json.dumps({"servers": [{"identity": server}]}))
        return Kit(folder, role)


@pytest.fixture
def certify():
    """Return what makes a CA."""
    return Authority


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "ca")


@pytest.fixture
def foreign(tmp_path):
    return Authority(tmp_path / "foreign")


@pytest.fixture
def server(authority):
    return authority.kit("server", "server")


@pytest.fixture
def site(authority):
    return authority.kit("client", "site-1")


@pytest.fixture
def listening():
    """Return what lets a listener with a kit run meanwhile, on a free port."""

    @contextmanager
    def run(kit, unchecked=False, **parts):
        if unchecked:
            kit = SimpleNamespace(context=kit.context, require=lambda *_: None)
        stop = threading.Event()
        with Listener(kit, 0, **{"has": "2.9.0", **parts}) as listener:
            thread = threading.Thread(target=listener.serve, args=(60, lambda: not stop.is_set()))
            thread.start()
            try:
                yield listener.server_address[1]
            finally:
                stop.set()
                thread.join()

    return run


@pytest.fixture
def look(site):
    """Return what probes a port here as a site."""

    def run(port, kit=site, address="127.0.0.1", **parts):
        return Probe(kit, address, port, **{"has": "2.9.0", "turn_s": 5, **parts}).look()

    return run


@pytest.fixture
def told(golden, look):
    """Return what compares the sentence of a look with the golden file, without its port."""

    def compare(port, **parts):
        with pytest.raises(Trouble) as trouble:
            look(port, **parts)
        golden(*(text.replace(str(port), "PORT") for text in (trouble.value.message, trouble.value.fix)))

    return compare
