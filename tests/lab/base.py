# SPDX-License-Identifier: Apache-2.0
"""The root file system that all hosts share as their lower layer: what a minimal lease has."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from . import CACHE
from .machine import SUITE, apt_source, apt_sources, provide, run

_PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "openssh-server",
    "procps",
    "python3",
    "sudo",
    "systemd",
    "systemd-sysv",
)
_WITHOUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")

_FINISH = r"""
set -eu
useradd --create-home --shell /bin/bash --uid 1000 lease
passwd --lock --quiet root
rm -f /etc/ssh/ssh_host_* /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/hostname /etc/resolv.conf
systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    e2scrub_reap.service fstrim.timer getty.target console-getty.service systemd-pstore.service
echo SetEnv OMP_NUM_THREADS=1 >/etc/ssh/sshd_config.d/one-thread.conf
"""
"""Run in the new root: a user as a lease gives one, and nothing that wakes by itself or knows a network.

All hosts have this machine's few cores, on which threads that wait for each other in a loop take them all.
"""


def base(*more: str, suite: str = SUITE) -> Path:
    """Return the folder of the base with these packages too, built on the first call; it is never written to.

    Args:
        more: Debian's packages beside the base's.
        suite: of Debian.

    The first call is under a lock (``Lab.up``).

    Raises:
        LabError: mmdebstrap failed.
    """
    packages = (*_PACKAGES, *more)
    key = hashlib.sha256(repr((suite, packages, _WITHOUT, _FINISH)).encode()).hexdigest()[:12]
    target = CACHE / f"base-{key}"
    if not target.exists():
        aside = target.with_suffix(".building")
        shutil.rmtree(aside, ignore_errors=True)
        _build(aside, packages, suite)
        aside.rename(target)
    return target


def _build(folder: Path, packages: Sequence[str], suite: str) -> None:
    provide()
    print(f"Building the lab's base in {folder}, once", flush=True)
    options = ["--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(packages)}"]
    options += [f"--dpkgopt=path-exclude={pattern}" for pattern in _WITHOUT]
    if suite != SUITE:  # a mirror's snapshot of it is out of date
        options.append('--aptopt=Acquire::Check-Valid-Until "false"')
    run("mmdebstrap", *options, suite, folder, *(apt_sources() if suite == SUITE else [apt_source(suite)]))
    run("chroot", folder, "sh", "-c", _FINISH)
