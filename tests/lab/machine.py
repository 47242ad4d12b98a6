# SPDX-License-Identifier: Apache-2.0
"""What this machine needs so that a lab can be on it."""

import fcntl
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from . import CACHE, LabError

_PACKAGES = {
    "mmdebstrap": "mmdebstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "ssh": "openssh-client",
    "mount": "mount",
    "patchelf": "patchelf",
    "chroot": "coreutils",
    "unshare": "util-linux",
}
"""Debian's package by the command that it brings."""

CGROUPS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
"""Where the unified hierarchy may be: beside those of version 1, or alone."""

SUITE = "bookworm"
"""Debian 12, whose Python is 3.11."""


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Hold this machine's lock of that name; what is done under it is done by one process at a time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f".{what}.lock").open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def run(*command: str | Path, **environ: str) -> str:
    """Run a command to its end and return what it printed.

    Raises:
        LabError: it failed; the text has the end of what it said.
    """
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-500:]
        raise LabError(f"`{' '.join(map(str, command))}` failed: {said} Fix: mend what it names.")
    return done.stdout


def check() -> None:
    """Refuse a machine that can hold no lab; installs nothing.

    Raises:
        LabError: what it lacks.
    """
    if os.geteuid() != 0:
        raise LabError("A lab needs root, for mounts, namespaces and systemd. Fix: run the command as root.")
    if platform.system() != "Linux" or "overlay" not in Path("/proc/filesystems").read_text().split():
        raise LabError("This kernel has no overlayfs. Fix: modprobe overlay, or use another machine.")
    cgroups()
    if not apt_sources():
        raise LabError(
            f"This machine's apt has no source for Debian's {SUITE}. Fix: use a machine with Debian 12."
        )


def provide() -> None:
    """Check the machine, and install with apt-get the Debian packages that it still lacks.

    Raises:
        LabError: the machine can hold no lab, or apt-get failed.
    """
    check()
    install(_PACKAGES)


def install(packages: Mapping[str, str]) -> None:
    """Install with apt-get those Debian packages, by a command that each brings, that this machine lacks.

    Raises:
        LabError: apt-get failed.
    """
    lacking = sorted(package for command, package in packages.items() if shutil.which(command) is None)
    if lacking:
        run("apt-get", "update", "-qq")
        command = ("apt-get", "install", "-qq", "--yes", "--no-install-recommends", *lacking)
        run(*command, DEBIAN_FRONTEND="noninteractive")


def apt_sources() -> list[Path]:
    """Return the files that tell apt where this machine's Debian packages come from."""
    lists = [
        Path("/etc/apt/sources.list"),
        *sorted(Path("/etc/apt/sources.list.d").glob("*.list")),
        *sorted(Path("/etc/apt/sources.list.d").glob("*.sources")),
    ]
    return [path for path in lists if path.is_file() and SUITE in path.read_text().split()]


def apt_source(suite: str) -> str:
    """Return the line by which apt gets another suite of Debian from where this machine's packages come."""
    texts = "\n".join(path.read_text() for path in apt_sources())
    one_line, several = rf"^deb (?:\[.*\] )?(\S+) {SUITE} ", rf"^URIs: *(\S+)\nSuites: *{SUITE}\b(?!-)"
    uri = next(filter(None, re.findall(f"(?:{one_line}|{several})", texts, re.MULTILINE)[0]))
    return f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {uri} {suite} main"


def cgroups() -> Path:
    """Return where the unified hierarchy of cgroups is mounted.

    Raises:
        LabError: nowhere.
    """
    for place in CGROUPS:
        if (place / "cgroup.controllers").exists():
            return place
    raise LabError("No unified cgroup hierarchy is mounted. Fix: mount cgroup2 on /sys/fs/cgroup/unified.")
