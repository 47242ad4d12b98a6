# SPDX-License-Identifier: Apache-2.0
"""Podman for real: a command with a store of its own, images made from folders, and a registry of files."""

import http.server
import json
import resource
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager

from lab.machine import install, run

from runners.commands import capture_command

_PACKAGES = {"podman": "podman", "runc": "runc"}
"""Debian's package by the command that it brings."""
_COMMAND = """#!/bin/sh
export CONTAINERS_CONF={folder}/containers.conf CONTAINERS_REGISTRIES_CONF={folder}/registries.conf
exec {podman} --storage-driver overlay --root {folder}/store --runroot {runroot} "$@"
"""
_CONTAINERS = """[engine]
runtime = "runc"
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc=30000:30000"]
volumes = {volumes}
"""
"""A machine of CI may not raise limits, as Podman does; and folders that all containers have."""
_REGISTRIES = """[[registry]]
location = "nvcr.io"
blocked = true
"""


class Podman:
    """Its command is ``podman`` in ``bin``; `running` makes one."""

    name = "podman"

    def __init__(self, folder, runroot, volumes=()):
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir(parents=True)
        volumes = json.dumps([f"{path}:{path}:ro" for path in volumes])
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        (folder / "containers.conf").write_text(_CONTAINERS.format(files=files, volumes=volumes))
        (folder / "registries.conf").write_text(_REGISTRIES)
        self.path = self.bin / "podman"
        self.path.write_text(_COMMAND.format(folder=folder, runroot=runroot, podman=shutil.which("podman")))
        self.path.chmod(0o755)

    def ask(self, *words):
        return run(self.path, *words).strip()

    def image(self, name, folder, path="/usr/bin:/bin"):
        """Make the image ``name`` of what is in a folder, with this PATH."""
        packed = subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE)
        command = [self.path, "import", "--change", f"ENV PATH={path}", "-", name]
        made = capture_command(command, stdin=packed.stdout)
        assert (made.returncode, packed.wait()) == (0, 0), made.stderr

    def digest(self, name):
        return f"sha256:{self.ask('image', 'inspect', '--format', '{{.Id}}', name)}"

    @contextmanager
    def small(self, folder, megabytes):
        """Have a store of this size instead, as on a host whose disk is full."""
        own = self.path.read_text()
        folder.mkdir(exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder)
        self.path.write_text(own.replace(f"--root {self.folder}/store", f"--root {folder}/store"))
        try:
            yield
        finally:
            self.path.write_text(own)
            subprocess.run(["umount", folder / "store" / "overlay"], check=False, capture_output=True)
            run("umount", folder)

    def containers(self):
        return self.ask("ps", "--all", "--format", "{{.Names}}").split()


class _Files(http.server.BaseHTTPRequestHandler):
    """A registry of one image, by what ``podman save --format oci-dir`` wrote into ``folder``."""

    folder = None

    def do_GET(self):
        index = json.loads((self.folder / "index.json").read_text())["manifests"][0]
        *_, kind, name = self.path.split("/")
        digest = name if name.startswith("sha256:") else index["digest"]
        path = self.folder / "blobs" / digest.replace(":", "/")
        body = b"" if self.path == "/v2/" else path.read_bytes() if path.exists() else None
        self.send_response(404 if body is None else 200)
        manifest = kind == "manifests"
        self.send_header("Content-Type", index["mediaType"] if manifest else "application/octet-stream")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


@contextmanager
def registry(podman, folder, image, name):
    """Serve an image of Podman's on this machine, and return the name by which it is pulled."""
    podman.ask("save", "--quiet", "--format", "oci-dir", "-o", folder, image)
    handler = type("Files", (_Files,), {"folder": folder})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"
        with (podman.folder / "registries.conf").open("a") as stream:
            stream.write(f'[[registry]]\nlocation = "{place}"\ninsecure = true\n')
        yield f"{place}/{name}"
        server.shutdown()


@contextmanager
def running(folder, volumes=()):
    """Return a Podman whose containers have these folders of the host; they end with it.

    It is installed if it is not there.
    """
    install(_PACKAGES)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="podman-") as runroot:  # 50 characters at most
        podman = Podman(folder, runroot, volumes)
        try:
            yield podman
        finally:
            subprocess.run([podman.path, "rm", "--all", "--force"], check=False, capture_output=True)
            subprocess.run([podman.path, "rmi", "--all", "--force"], check=False, capture_output=True)
