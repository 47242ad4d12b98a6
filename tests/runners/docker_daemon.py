# SPDX-License-Identifier: Apache-2.0
"""Docker for real: a daemon with folders of its own, asked by a command of its own; see `podman`."""

import os
import subprocess
import time
from contextlib import contextmanager

from lab.machine import run

from runners.podman import Podman

_PACKAGES = ("docker.io", "containerd")
_COMMAND = """#!/bin/sh
exec {folder}/debian/usr/bin/docker --host unix://{folder}/socket "$@"
"""


class Docker(Podman):
    """Its command is ``docker`` in ``bin``; `daemon` makes one."""

    name = "docker"

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir(parents=True)
        self.path = self.bin / self.name
        self.path.write_text(_COMMAND.format(folder=folder))
        self.path.chmod(0o755)

    def digest(self, name):
        return self.ask("image", "inspect", "--format", "{{.Id}}", name)


@contextmanager
def daemon(folder):
    """Return a Docker whose daemon ends with it, and has no network of its own.

    Debian's packages are unpacked here, as their installation would start a daemon that stays.
    """
    docker, debian = Docker(folder), folder / "debian"
    run("apt-get", "update", "-qq")
    subprocess.run(["apt-get", "download", "-qq", *_PACKAGES], cwd=folder, check=True, capture_output=True)
    for package in folder.glob("*.deb"):
        run("dpkg-deb", "--extract", package, debian)
    command = [
        *("dockerd", "--host", f"unix://{folder}/socket", "--pidfile", folder / "pid"),
        *("--data-root", folder / "data", "--exec-root", folder / "exec"),
        *("--bridge=none", "--iptables=false", "--ip6tables=false"),
    ]
    path = f"{debian}/usr/sbin:{debian}/usr/bin:{os.environ['PATH']}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "PATH": path})
    try:
        ends = time.monotonic() + 60
        while subprocess.run([docker.path, "info"], check=False, capture_output=True).returncode:
            assert time.monotonic() < ends, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        yield docker
    finally:
        process.terminate()
        process.wait(timeout=60)
        for mount in (folder / "exec" / "netns" / "default", folder / "data"):
            subprocess.run(["umount", mount], check=False, capture_output=True)
