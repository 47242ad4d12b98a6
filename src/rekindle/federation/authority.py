# SPDX-License-Identifier: Apache-2.0
"""The certificate authority of a federation, on the controller: NVFlare's own provisioning.

~/.local/state/rekindle/federations/<digest of all that it is for>/
    profile.yaml  ca/  <participant>.signed.zip     since NVFlare 2.8, whose hosts make their own keys
    project.yaml  work/                             NVFlare 2.7, which makes all keys here
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml

from rekindle.host import folders, storage
from rekindle.records import Complaint
from rekindle.records.layout import play_in
from rekindle.records.text import find_last_line, fold_line

from . import certificates
from .certificates import Certificate, Identity
from .request import make_request, read_request
from .tool import provide_nvflare

ADMIN = "admin@rekindle.local"
"""Who submits jobs; NVFlare wants an address of e-mail."""
_ORG = "rekindle"
_CA_DAYS = 360
"""As NVFlare 2.7 has it; an authority that nobody used for longer is removed."""
_LIMIT_S = 120
_SIGNED = {"client": ("site", "client"), "server": ("server", "server"), "admin": ("user", "lead")}
"""What participants are in requests since NVFlare 2.8, and the role in their certificates."""
_BUILDERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("workspace.WorkspaceBuilder", {"template_file": "master_template.yml"}),
    ("static_file.StaticFileBuilder", {"config_folder": "config"}),
    ("cert.CertBuilder", {}),
    ("signature.SignatureBuilder", {}),
)


class Authority:
    """A federation's authority, made at its first use; only one process uses it at a time."""

    def __init__(  # noqa: PLR0913 - each is a part of what it is for
        self,
        home: Path,
        name: str,
        release: str,
        server: dict[str, Any],
        wheelhouse: str = "",
        *,
        lease: str = "",
    ) -> None:
        """Take the federation's name.

        Args:
            home: folder of the controller's state.
            name: of the federation.
            release: of NVFlare, on all hosts.
            server: its ``address``, ``port`` and ``scheme``.
            wheelhouse: from which NVFlare is installed here; empty for the network.
            lease: of `identify_lease`; another lease has another authority.
        """
        self.name, self._release, self._server, self._wheelhouse = name, release, server, wheelhouse
        all_of_it = json.dumps([name, release, server, lease], sort_keys=True).encode()
        self._all, self._tools = home / "federations", home / "nvflare"
        self.folder = self._all / hashlib.sha256(all_of_it).hexdigest()[:32]
        self.own_keys = not release.startswith("2.7.")
        """Whether hosts make their keys, which then never leave them."""

    def server_name(self) -> str:
        """Return the name of the server among the participants."""
        return str(self._server["address"]) if self.own_keys else "server"

    def kind(self, participant: str) -> str:
        """Return what a participant is: ``server``, ``client`` or ``admin``; its name alone decides that."""
        return {self.server_name(): "server", ADMIN: "admin"}.get(participant, "client")

    def definition(self, participant: str) -> str:
        """Return the definition of a participant as NVFlare reads it."""
        kind = self.kind(participant)
        role = [_SIGNED[kind][1]] if kind == "admin" else []
        return write_definition(self.name, participant, [kind, *role])

    def sign(self, request: Path, participant: str, days: int) -> Path:
        """Return the signed answer to a participant's request, valid for so many days.

        The host chooses its key, and nothing else: what is signed is written here, and compared before and
        after. ``<participant>.request.json`` beside the answer describes it, for the host's NVFlare.

        Raises:
            Complaint: the request asks for anything else, or NVFlare refuses it.
        """
        kind, role = _SIGNED[self.kind(participant)]
        csr = read_request(request, participant, certificates.make_subject(participant, _ORG, role))
        identity = {"project": self.name, "name": participant, "org": _ORG, "kind": kind, "cert_type": role}
        if kind == "user":
            identity["cert_role"] = role
        asked, described = make_request(csr, self.definition(participant), identity)
        self.root()
        with self._alone():
            ours, signed = (self.folder / f"{participant}.{what}.zip" for what in ("request", "signed"))
            storage.write_file(ours, asked)
            storage.write_file(self.folder / f"{participant}.request.json", described)
            self._nvflare(
                *("cert", "approve", ours, "--ca-dir", "ca", "--profile", self._profile()),
                *("--valid-days", days, "--out", signed, "--force"),
            )
        self.require(read_certificate(signed), participant)
        return signed

    def root(self) -> bytes:
        """Return the authority's own certificate as PEM; it is made at its first use."""
        if not self.own_keys:
            self.kit(self.server_name(), "server")
            made = self._made(self.server_name())
            return (made / "startup" / "rootCA.pem").read_bytes() if made else b""
        with self._alone():
            if not (self.folder / "ca" / "rootCA.key").exists():
                self._forget()
                words = ("--profile", self._profile(), "-o", "ca", "--valid-days", _CA_DAYS)
                self._nvflare("cert", "init", *words)
            return (self.folder / "ca" / "rootCA.pem").read_bytes()

    def require(self, pem: bytes, participant: str) -> Certificate:
        """Return the certificate in ``pem``, which has to be this authority's for the participant.

        Raises:
            Complaint: it is another's, or for somebody else.
        """
        found = certificates.parse_certificate(pem)
        if not certificates.is_signed_by(pem, self.root()):
            raise Complaint(
                f"The certificate of {participant} is not of the authority of this lease.",
                f"remove the folder {participant} of the federation on its host.",
            )
        if found.identity != self._identity(participant):
            raise Complaint(
                f"The certificate of {participant} is for {fold_line(found.identity.subject)[:200]}.",
                "give this host back: it is not honest.",
            )
        return found

    def _identity(self, participant: str) -> Identity:
        """Return whom a participant's certificate has to name."""
        kind = self.kind(participant)
        if self.own_keys:
            role, hosts = _SIGNED[kind][1], {participant}
        else:
            role = "project_admin" if kind == "admin" else ""
            hosts = {participant, str(self._server["address"])} if kind == "server" else {participant}
        return Identity(certificates.make_subject(participant, _ORG, role), frozenset(hosts))

    def fingerprint(self) -> str:
        """Return what NVFlare calls the fingerprint of the authority; there has to be one."""
        known = json.loads((self.folder / "ca" / "ca.json").read_text(encoding="utf-8"))
        return str(known["rootCA_fingerprint"])

    def kit(self, participant: str, kind: str) -> bytes:
        """Return a participant's kit of NVFlare 2.7 as a tar archive; all that were made before stay.

        Args:
            participant: its name.
            kind: ``server``, ``client`` or ``admin``.

        Raises:
            Complaint: NVFlare refuses it.
            RecordError: no site may have that name.
        """
        certificates.require_name(participant)
        with self._alone():
            made = self._made(participant)
            if made is None:
                self._provision(participant, kind)
                made = self._made(participant)
            if made is None:
                raise Complaint(f"NVFlare made no kit of {participant}.", f"see {self.folder}.")
            packed = BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz") as archive:
                archive.add(made, ".")
            return packed.getvalue()

    def _made(self, participant: str) -> Path | None:
        found = sorted((self.folder / "work" / self.name).glob(f"prod_*/{participant}"))
        return found[-1] if found else None

    def _provision(self, participant: str, kind: str) -> None:
        self._forget()
        project = self.folder / "project.yaml"
        known: list[dict[str, Any]] = []
        if project.exists():
            known = yaml.safe_load(project.read_text(encoding="utf-8"))["participants"]
        address, port = self._server["address"], self._server["port"]
        server = {"name": "server", "type": "server", "org": _ORG, "default_host": address}
        server |= {"host_names": [address, "server"], "fed_learn_port": port, "admin_port": port}
        admin = {"name": ADMIN, "type": "admin", "org": _ORG, "role": "project_admin"}
        known = known or [server, admin]
        if kind == "client" and participant not in {one["name"] for one in known}:
            known.append({"name": participant, "type": "client", "org": _ORG})
        prefix = "nvflare.lighter.impl."
        builders: list[dict[str, Any]] = [
            {"path": f"{prefix}{path}", "args": dict(args)} for path, args in _BUILDERS
        ]
        builders[1]["args"]["scheme"] = self._server["scheme"]
        content = {"api_version": 3, "name": self.name, "description": self.name}
        text = yaml.safe_dump({**content, "participants": known, "builders": builders})
        storage.write_file(project, text.encode())
        self._nvflare("provision", "-p", project, "-w", "work")

    def _profile(self) -> Path:
        profile = self.folder / "profile.yaml"
        address, port = self._server["address"], self._server["port"]
        server = {"host": address, "fed_learn_port": port, "admin_port": port}
        content = {"name": self.name, "scheme": self._server["scheme"], "connection_security": "mtls"}
        storage.write_file(profile, yaml.safe_dump({**content, "server": server}).encode())
        return profile

    @contextmanager
    def _alone(self) -> Iterator[None]:
        storage.make_folder(self.folder)
        with storage.lock_folder(self.folder):
            yield

    def _forget(self) -> None:
        """Remove authorities that have expired."""
        for folder in self._all.glob("*"):
            if folder.stat().st_mtime < time.time() - _CA_DAYS * 86400:
                shutil.rmtree(folder, ignore_errors=True)

    def _nvflare(self, *words: object) -> None:
        storage.make_folder(self._tools)
        python = provide_nvflare(self._tools, self._release, self._wheelhouse)
        environ = {**os.environ, "HOME": str(self.folder)}  # it keeps records in ~/.nvflare
        command = [str(python), "-m", "nvflare.cli", *map(str, words)]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_LIMIT_S,
                umask=0o077,
            )
        except subprocess.TimeoutExpired:
            raise Complaint(
                f"`nvflare {words[0]} {words[1]}` did not end within {_LIMIT_S} s.", "try it again."
            ) from None
        if done.returncode:
            reason = find_last_line(done.stderr or done.stdout)[:300] or f"status {done.returncode}"
            raise Complaint(f"`nvflare {words[0]} {words[1]}` failed: {reason}", f"see {self.folder}.")


def read_certificate(signed: Path) -> bytes:
    """Return the certificate in the signed answer to a request.

    Raises:
        Complaint: there is none.
    """
    with zipfile.ZipFile(signed) as archive:
        names = [name for name in archive.namelist() if name.endswith(".crt")]
        if not names:
            raise Complaint(f"{signed.name} has no certificate.", "provision the host again.")
        return archive.read(names[0])


def write_definition(name: str, participant: str, kind: Sequence[str]) -> str:
    """Return the definition of a participant as NVFlare's ``cert request`` reads it.

    Args:
        name: of the federation.
        participant: its name.
        kind: ``server``, ``client``, or ``admin`` and a role.
    """
    one = {"name": participant, "type": kind[0], "org": _ORG}
    if kind[1:]:
        one["role"] = kind[1]
    return yaml.safe_dump({"name": name, "participants": [one]})


def identify_lease(results: Path, hosts: Collection[str]) -> str:
    """Return what tells a lease from others: its results folder, when that was begun, and all hosts.

    Raises:
        RecordError: run.json is broken.
    """
    began = play_in(results).started if (results / folders.PLAY_RECORD).exists() else ""
    return json.dumps([str(results.resolve()), began, sorted(hosts)])
