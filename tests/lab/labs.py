# SPDX-License-Identifier: Apache-2.0
"""A lab: hosts with one key, one ssh_config and one inventory."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from . import CACHE, STATE, LabError, network
from .base import base
from .host import Host
from .light import LightHost
from .machine import SUITE, alone, check, provide, run

WHEELHOUSE = CACHE / "wheelhouse"
"""What `rekindle bundle` filled, shared by all labs and kept when they go."""

_BOOTS_WITHIN_S = 60
_SSH = """\
Host {name}
    HostName {address}
"""
_SSH_ALL = """\
Host *
    User lease
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    ForwardAgent no
    ClearAllForwardings yes
"""


class Lab:
    """The lab of that name, there or not; its hosts are all ``light``, or none, and begin with ``disk``.

    ``suites`` has Debian's by host, where it is not 12.
    """

    def __init__(
        self,
        name: str = "lab",
        *,
        light: bool = False,
        disk: Path | None = None,
        suites: Mapping[str, str] | None = None,
    ) -> None:
        """Read what is known of it.

        Raises:
            LabError: a lab cannot have that name.
        """
        self.name = _named(name)
        self._kind, self._disk = (LightHost if light else Host), disk
        self._suites = suites or {}
        self.folder = STATE / name
        self.inventory = self.folder / "hosts.yml"
        self.ssh_config = self.folder / "ssh_config"
        known = self.folder / "lab.json"
        self.number, self._names = json.loads(known.read_text()) if known.exists() else (None, [])

    @property
    def hosts(self) -> dict[str, Host]:
        """Its hosts by name."""
        return {
            name: self._kind(
                name,
                self.folder / "hosts" / name,
                self.number,
                ordinal,
                self._disk,
                self._suites.get(name, SUITE),
            )
            for ordinal, name in enumerate(self._names, 1)
        }

    def up(self, names: Sequence[str]) -> None:
        """Have these hosts in the lab and running, beside those that are in it; returns once ssh works.

        Raises:
            LabError: this machine can hold no lab, or a host does not boot.
        """
        with alone("base"):
            provide()
            for suite in {self._suites.get(name, SUITE) for name in names}:
                base(*self._kind.packages, suite=suite)
        self._enrol(names)
        for host in self.hosts.values():
            host.make((self.folder / "key.pub").read_text().strip())
        self._furnish()
        self._write_ssh()
        self._write_inventory()
        for host in self.hosts.values():
            host.start()
        for name in self.hosts:
            self.await_ssh(name)

    def down(self) -> None:
        """Leave nothing of the lab; what labs share in CACHE stays."""
        check()
        self.hang_up()
        for host in self.hosts.values():
            host.remove()
        if self.number is not None:
            network.remove_bridge(self.number)
        shutil.rmtree(self.folder, ignore_errors=True)
        with alone("labs"):
            if STATE.exists() and not any(path.is_dir() for path in STATE.iterdir()):
                shutil.rmtree(STATE)
        self.number, self._names = None, []

    def hang_up(self) -> None:
        """End the connections that ssh keeps open for Ansible."""
        for socket in self.folder.glob("control/*"):
            end = ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"]
            subprocess.run(end, capture_output=True, check=False)

    def await_ssh(self, name: str) -> None:
        """Wait until a user can log in to the host.

        Raises:
            LabError: nobody can within a minute.
        """
        ends = time.monotonic() + _BOOTS_WITHIN_S
        while subprocess.run(self.ssh(name, "true"), capture_output=True, check=False).returncode != 0:
            if time.monotonic() > ends:
                console = self.hosts[name].folder / "console.log"
                raise LabError(f"{name} lets nobody in within {_BOOTS_WITHIN_S} s. Fix: read {console}.")
            time.sleep(0.1)

    def ssh(self, host: str, *command: str, user: str = "lease") -> list[str]:
        """Return the command that runs one on a host, or a shell."""
        return ["ssh", "-F", str(self.ssh_config), "-o", "ConnectTimeout=10", f"{user}@{host}", *command]

    def _enrol(self, names: Sequence[str]) -> None:
        """Give the lab a number and its new hosts ordinals, and remember both."""
        with alone("labs"):
            STATE.mkdir(parents=True, exist_ok=True)
            taken = {json.loads(path.read_text())[0] for path in STATE.glob("*/lab.json")}
            if self.number is None:
                self.number = next(number for number in range(256) if number not in taken)
            self._names = list(dict.fromkeys([*self._names, *map(_named, names)]))
            self.folder.mkdir(mode=0o700, exist_ok=True)
            (self.folder / "lab.json").write_text(json.dumps([self.number, self._names]))
        network.make_bridge(self.number)
        if not (self.folder / "key").exists():
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", self.folder / "key")

    def _furnish(self) -> None:
        """Write what its hosts have to know of each other before they start; nothing."""

    def _leased(self) -> dict[str, dict[str, object]]:
        """Return the hosts that its inventory has, each with its settings."""
        return {name: {} for name in self.hosts}

    def _write_ssh(self) -> None:
        hosts = self.hosts.values()
        known = "".join(f"{host.address} {host.host_key}\n" for host in hosts)
        (self.folder / "known_hosts").write_text(known)
        text = "".join(_SSH.format(name=host.name, address=host.address) for host in hosts)
        self.ssh_config.write_text(text + _SSH_ALL.format(folder=self.folder))

    def _write_inventory(self) -> None:
        (self.folder / "control").mkdir(exist_ok=True)
        variables = {
            "ansible_ssh_common_args": f"-F {self.ssh_config}",
            "ansible_control_path_dir": str(self.folder / "control"),
            "rekindle_gpus_required": False,
            "rekindle_min_free_gb": 5,
            "rekindle_wheelhouse": str(WHEELHOUSE),
            "rekindle_federation_address": next(iter(self.hosts.values())).address,
        }
        leased = self._leased()
        server, *sites = leased
        groups: dict[str, object] = {
            "flare_server": {"hosts": {server: {}}},
            "flare_sites": {"hosts": {name: {} for name in sites}},
        }
        inventory = {"all": {"vars": variables, "hosts": leased, "children": groups if sites else {}}}
        self.inventory.write_text("---\n" + yaml.safe_dump(inventory, sort_keys=False))


def _named(name: str) -> str:
    """Return ``name``, which names folders too, if it is fit to."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
        raise LabError(f"{name!r} is no name for a lab or a host. Fix: use a to z, 0 to 9 and -.")
    return name
