# SPDX-License-Identifier: Apache-2.0
"""A light host, of which many fit on a machine: sshd in namespaces of its own, and no systemd.

As it starts, what its /etc/fstab names is mounted, from this machine, and its /etc/rc.local runs, if any.
"""

import os
import subprocess

from . import network
from .host import Host

_BOOT = """
set -eu
echo $$ >"$0/host/cgroup.procs"
exec nsenter --net="$2" unshare --mount --pid --ipc --uts --fork sh -euc '
    mount -t proc proc "$0/proc"
    mount -t sysfs sysfs "$0/sys"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts"
    mount -t tmpfs tmpfs "$0/dev/shm"
    hostname "$1"
    mount --all --fstab "$0/etc/fstab" --target-prefix "$0"
    mkdir -p "$0/run/sshd"
    if [ -e "$0/etc/rc.local" ]; then chroot "$0" sh /etc/rc.local; fi
    exec chroot "$0" /usr/sbin/sshd -D
' "$1" "$3"
"""
"""Of the cgroup, the root, the network namespace and the name; the mounts go with the last process."""


class LightHost(Host):
    """A `Host` without systemd, so that nothing on it can be a service; it does not reboot."""

    def start(self) -> None:
        """Switch it on, unless it runs."""
        if self.running:
            return
        self._make_cgroups("host")
        namespace = network.namespace(self.number, self.ordinal)
        with (self.folder / "console.log").open("a") as console:
            subprocess.run(
                ["setsid", "--fork", "sh", "-c", _BOOT, self._cgroup, self.root, namespace, self.name],
                cwd="/",
                env={"PATH": os.environ["PATH"]},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                check=True,
            )
