"""The certificate authority of a federation, on the controller: NVFlare's own provisioning.

~/.local/state/rekindle/federations/<name>/<release>/
    profile.yaml  ca/  <participant>.signed.zip     since NVFlare 2.8, whose hosts make their own keys
    <address>-<port>-<scheme>/project.yaml  work/   NVFlare 2.7, which makes all keys here
"""

import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml

from rekindle.host import own
from rekindle.records import Complaint

from .tool import nvflare

ADMIN = "admin@rekindle.local"
"""Who submits jobs; NVFlare wants an address of e-mail."""
_ORG = "rekindle"
_CA_DAYS = 3650
_LIMIT_S = 120
_BUILDERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("workspace.WorkspaceBuilder", {"template_file": "master_template.yml"}),
    ("static_file.StaticFileBuilder", {"config_folder": "config"}),
    ("cert.CertBuilder", {}),
    ("signature.SignatureBuilder", {}),
)


class Authority:
    """A federation's authority, made at its first use; only one process uses it at a time."""

    def __init__(
        self, home: Path, name: str, release: str, server: dict[str, Any], wheelhouse: str = ""
    ) -> None:
        """Take the federation's name.

        Args:
            home: folder of the controller's state.
            name: of the federation.
            release: of NVFlare, on all hosts.
            server: its ``address``, ``port`` and ``scheme``.
            wheelhouse: from which NVFlare is installed here; empty for the network.
        """
        self.name, self._release, self._server, self._wheelhouse = name, release, server, wheelhouse
        self.folder, self._tools = home / "federations" / name / release, home / "nvflare"
        self.own_keys = not release.startswith("2.7.")
        """Whether hosts make their keys, which then never leave them."""
        if not self.own_keys:  # kits that are made here have the server's address: another has its own
            self.folder /= "-".join(str(server[part]) for part in ("address", "port", "scheme"))

    def server_name(self) -> str:
        """Return the name of the server among the participants."""
        return str(self._server["address"]) if self.own_keys else "server"

    def sign(self, request: Path, participant: str, days: int) -> Path:
        """Return the signed answer to a participant's request, valid for so many days.

        Raises:
            Complaint: NVFlare refuses it.
        """
        with self._alone():
            profile = self._profile()
            if not (self.folder / "ca" / "rootCA.key").exists():
                self._nvflare("cert", "init", "--profile", profile, "-o", "ca", "--valid-days", _CA_DAYS)
            signed = self.folder / f"{participant}.signed.zip"
            self._nvflare(
                *("cert", "approve", request, "--ca-dir", "ca", "--profile", profile),
                *("--valid-days", days, "--out", signed, "--force"),
            )
            return signed

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
        """
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
        own.write(project, text.encode())
        self._nvflare("provision", "-p", project, "-w", "work")

    def _profile(self) -> Path:
        profile = self.folder / "profile.yaml"
        address, port = self._server["address"], self._server["port"]
        server = {"host": address, "fed_learn_port": port, "admin_port": port}
        content = {"name": self.name, "scheme": self._server["scheme"], "connection_security": "mtls"}
        own.write(profile, yaml.safe_dump({**content, "server": server}).encode())
        return profile

    @contextmanager
    def _alone(self) -> Iterator[None]:
        own.make_folder(self.folder)
        with own.alone(self.folder):
            yield

    def _nvflare(self, *words: object) -> None:
        own.make_folder(self._tools)
        python = nvflare(self._tools, self._release, self._wheelhouse)
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
            lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            reason = lines[-1].strip()[:300] if lines else f"status {done.returncode}"
            raise Complaint(f"`nvflare {words[0]} {words[1]}` failed: {reason}", f"see {self.folder}.")


def certificate_in(signed: Path) -> bytes:
    """Return the certificate in the signed answer to a request.

    Raises:
        Complaint: there is none.
    """
    with zipfile.ZipFile(signed) as archive:
        names = [name for name in archive.namelist() if name.endswith(".crt")]
        if not names:
            raise Complaint(f"{signed.name} has no certificate.", "provision the host again.")
        return archive.read(names[0])


def participant_yaml(name: str, participant: str, kind: Sequence[str]) -> str:
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
