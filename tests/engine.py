"""A stand-in for Docker: its command, and an engine in this process that runs containers on the host.

As with the real one, a container's processes are the engine's children and none of the command's, they have
the variables that they were given alone, and what is left of them ends with the first.
"""

from __future__ import annotations

import hashlib
import json
import socketserver
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import psutil

COMMAND = """#!{python}
import json, os, socket, sys
with socket.create_connection(("127.0.0.1", {port})) as engine, engine.makefile("rw") as stream:
    asked = {{"words": sys.argv[1:], "pid": os.getpid(), "environ": dict(os.environ)}}
    print(json.dumps(asked), file=stream, flush=True)
    told = json.loads(stream.readline())
sys.stdout.write(told["out"])
sys.stderr.write(told["error"])
sys.exit(told["status"])
"""
INIT = """
import ctypes, psutil, subprocess, sys
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
status = subprocess.call(sys.argv[1:])
for process in psutil.Process().children(recursive=True):
    process.kill()
sys.exit(status)
"""
FLAGS = {"--rm", "--init", "--network=host", "--ipc=host"}
OPTIONS = {"--name", "--ulimit", "--user", "--gpus", "--volume", "--env", "--workdir"}


def digest(image):
    """Return what the engine knows an image by."""
    return f"sha256:{hashlib.sha256(image.encode()).hexdigest()}"


class Engine:
    """What it has: images by name, each with the Python of it; its registry; and its containers."""

    def __init__(self, bin_folder):
        self.bin, self.runtimes, self.refusal = bin_folder, "runc", None
        self.first_pid = None  # of every container, in place of its own
        self.images, self.registry, self.containers, self.asked = {}, {}, {}, []

    @property
    def docker(self):
        return self.bin / "docker"

    def answer(self, words, pid, environ):
        self.asked.append(words)
        match words:
            case ["info", "--format", _]:
                told = self._told(f"version=29.0.1 runtimes={self.runtimes}\n")
            case ["image", "inspect", "--format", "{{.Id}}", name] if name in self.images:
                told = self._told(f"{digest(name)}\n")
            case ["pull", "--quiet", name]:
                told = self._had(self.registry, name)
            case ["load", "--input", path]:
                told = self._had(*self._archived(path))
            case ["inspect", "--format", "{{.State.Pid}}", name] if name in self.containers:
                told = self._told(f"{self.first_pid or self.containers[name].pid}\n")
            case ["rm", "--force", name] if name in self.containers:
                self.kill(name)
                told = self._told(f"{name}\n")
            case ["image" | "inspect" | "rm", *_, name]:
                told = self._no("image" if words[0] == "image" else "container", name)
            case ["run", *rest]:
                told = self._run(rest, pid, environ)
            case _:
                told = {"out": "", "error": f"docker: {words} is not understood\n", "status": 125}
        return told

    def kill(self, name):
        first = psutil.Process(self.containers[name].pid)
        for process in [first, *first.children(recursive=True)]:
            process.kill()

    def _run(self, words, pid, environ):
        given, options = {}, []
        while words[0].startswith("--"):
            option, *words = words
            if option in OPTIONS:
                value, *words = words
                options.append((option, value))
            elif option not in FLAGS:
                return {"out": "", "error": f"unknown flag: {option}\n", "status": 125}
        for value in [value for option, value in options if option == "--env"]:
            name, is_set, text = value.partition("=")
            given[name] = text if is_set else environ[name]
        image, python, *words = words
        if image not in self.images or python != "python3":
            return self._no("image", image)
        settings = dict(options)
        if settings["--name"] in self.containers:
            return {"out": "", "error": f"Conflict. {settings['--name']} is in use.\n", "status": 125}
        with Path(f"/proc/{pid}/fd/1").open("ab") as output:
            container = subprocess.Popen(
                [sys.executable, "-c", INIT, self.images[image], *words],
                cwd=settings["--workdir"],
                env={"PATH": f"{Path(self.images[image]).parent}:/usr/bin:/bin", **given},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.containers[settings["--name"]] = container
        status = container.wait()
        del self.containers[settings["--name"]]
        return {"out": "", "error": "", "status": status if status >= 0 else 128 - status}

    def _had(self, source, name):
        if self.refusal or name not in source:
            why = self.refusal or f"pull access denied for {name}, repository does not exist"
            return {"out": "", "error": f"Error response from daemon: {why}\n", "status": 1}
        self.images[name] = source[name]
        return self._told(f"{name}\n")

    def _archived(self, path):
        name = json.loads(Path(path).read_text())
        return {name: sys.executable}, name

    def _told(self, text):
        return {"out": text, "error": "", "status": 0}

    def _no(self, kind, name):
        return {"out": "", "error": f"Error response from daemon: No such {kind}: {name}\n", "status": 1}


@contextmanager
def running(folder):
    """Run an engine whose command is ``docker`` in ``folder``; containers end with it."""
    engine = Engine(folder)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            told = engine.answer(**json.loads(self.rfile.readline()))
            self.wfile.write(json.dumps(told).encode() + b"\n")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        folder.mkdir(parents=True, exist_ok=True)
        engine.docker.write_text(COMMAND.format(python=sys.executable, port=server.server_address[1]))
        engine.docker.chmod(0o755)
        try:
            yield engine
        finally:
            for name in list(engine.containers):
                engine.kill(name)
            server.shutdown()
