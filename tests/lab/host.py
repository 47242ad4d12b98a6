# SPDX-License-Identifier: Apache-2.0
"""One host: an overlay over the base, a network namespace, and systemd as process 1 in a cgroup of its own.

Whether it runs is what the kernel says of its cgroup, so there is no pid to be wrong about. Beside the
host itself that cgroup holds its keeper, a shell that boots it again when it asks for a reboot.
"""

import contextlib
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from . import LabError, network
from .base import base
from .machine import SUITE, alone, cgroups, run

_KEEPER = """
echo $$ >"$0/keeper/cgroup.procs"
while sh -c 'echo $$ >"$0/host/cgroup.procs"; exec "$@"' "$0" "$@"; [ $? = 133 ]; do :; done
"""
"""systemd-nspawn exits with 133 when the host reboots."""

_NSPAWN_SETTINGS = {
    "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
    "SYSTEMD_NSPAWN_TMPFS_TMP": "0",  # /tmp is on the disk, as on a lease
    "SYSTEMD_NSPAWN_LOCK": "0",
}
_ENDS_WITHIN_S = 10


@dataclass(frozen=True)
class Host:
    """A host of a lab, there or not; ``number`` is the lab's and ``ordinal`` its own, from 1."""

    name: str
    folder: Path
    number: int
    ordinal: int
    disk: Path | None = None
    """What is on its disk at first, beside the base."""
    suite: str = SUITE
    """Of Debian."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Debian's packages that its kind of host has beside the base's."""

    @property
    def address(self) -> str:
        """Its IPv4 address."""
        return network.address(self.number, self.ordinal)

    @property
    def root(self) -> Path:
        """Its root file system, as seen from here."""
        return self.folder / "root"

    @property
    def host_key(self) -> str:
        """The public key of its sshd."""
        return (self.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().strip()

    @property
    def running(self) -> bool:
        """Whether it, or its keeper, has a process."""
        try:
            return "populated 1" in (self._cgroup / "cgroup.events").read_text()
        except OSError:
            return False

    def make(self, public_key: str) -> None:
        """Make its disk and network, unless they are there; ``public_key`` opens root and lease."""
        if not self.root.is_mount():
            # A volatile overlay, which no unmount has to write back, is mounted only once with the same work.
            shutil.rmtree(self.folder / "work", ignore_errors=True)
            for name in ("upper", "work", "root"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            below = base(*self.packages, suite=self.suite)
            lower = f"{self.disk}:{below}" if self.disk else below
            layers = f"volatile,lowerdir={lower},upperdir={self.folder}/upper,workdir={self.folder}/work"
            run("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        if not (self.folder / "upper/etc/ssh/ssh_host_ed25519_key").exists():
            self._make_it_one_of_its_own(public_key)
        with alone("kernel"):
            network.make_namespace(self.number, self.ordinal)

    def _make_it_one_of_its_own(self, public_key: str) -> None:
        etc = self.root / "etc"
        (etc / "hostname").write_text(f"{self.name}\n")
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{self.address} {self.name}\n")
        (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        for home, owner in ((self.root / "root", 0), (self.root / "home/lease", 1000)):
            folder = home / ".ssh"
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / "authorized_keys").write_text(f"{public_key}\n")
            for path in (folder, folder / "authorized_keys"):
                os.chown(path, owner, owner)
        key = etc / "ssh/ssh_host_ed25519_key"
        key.unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", key)

    def start(self) -> None:
        """Switch it on, unless it runs."""
        if self.running:
            return
        self._make_cgroups("keeper", "host")
        nspawn = [
            *("systemd-nspawn", "--quiet", "--boot", "--settings=no", "--register=no", "--keep-unit"),
            *("--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe"),
            f"--network-namespace-path={network.namespace(self.number, self.ordinal)}",
            *(f"--machine={self._machine}", f"--hostname={self.name}"),
            f"--directory={self.root}",
        ]
        with (self.folder / "console.log").open("a") as console:
            subprocess.run(
                ["setsid", "--fork", "sh", "-c", _KEEPER, str(self._cgroup), *nspawn],
                cwd="/",
                env={**os.environ, **_NSPAWN_SETTINGS},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                check=True,
            )

    def cut_power(self) -> None:
        """Kill all of it at once, as a power cut does; its disk and network stay."""
        if not self._cgroup.exists():
            return
        (self._cgroup / "cgroup.kill").write_text("1")
        ends = time.monotonic() + _ENDS_WITHIN_S
        while self.running:
            if time.monotonic() > ends:
                raise LabError(
                    f"{self.name} still has processes {_ENDS_WITHIN_S} s after they were killed. "
                    "Fix: look for what hangs in the kernel (ps, state D)."
                )
            time.sleep(0.02)
        with alone("kernel"):
            for tree in (self._cgroup, Path("/sys/fs/cgroup/systemd", *self._cgroup.parts[-2:])):
                for folder, _, _ in os.walk(tree, topdown=False):
                    Path(folder).rmdir()
                with contextlib.suppress(OSError):  # not there, or other hosts are still in it
                    tree.parent.rmdir()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Have none of its processes run meanwhile, as if no time passed there."""
        (self._cgroup / "cgroup.freeze").write_text("1")
        try:
            while "frozen 1" not in (self._cgroup / "cgroup.events").read_text():
                time.sleep(0.001)
            yield
        finally:
            (self._cgroup / "cgroup.freeze").write_text("0")

    def set_link(self, *, up: bool) -> None:
        """Plug its network cable in, or pull it."""
        network.set_link(self.number, self.ordinal, up=up)

    def remove(self) -> None:
        """Leave nothing of it, whatever is left of it now."""
        self.cut_power()
        if self.root.is_mount():
            run("umount", "--recursive", self.root)
        with alone("kernel"):
            network.remove_namespace(self.number, self.ordinal)
        for kind in ("propagate", "unix-export"):
            shutil.rmtree(f"/run/systemd/nspawn/{kind}/{self._machine}", ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_cgroups(self, *names: str) -> None:
        with alone("kernel"):
            for name in names:
                (self._cgroup / name).mkdir(parents=True, exist_ok=True)

    @property
    def _machine(self) -> str:
        """What systemd-nspawn knows it by; other labs may have hosts of its name."""
        return f"rekindle-{self.number}-{self.ordinal}"

    @property
    def _cgroup(self) -> Path:
        return cgroups() / "rekindle-lab" / f"{self.number}-{self.ordinal}"
