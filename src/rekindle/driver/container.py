"""A run in a container: what starts it, which processes are its own, and what ends it.

The driver's own process below it is docker's client alone; the container's are children of the engine.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from rekindle.host import folders
from rekindle.host.places import PACKAGE
from rekindle.records import RunSpec

from .processes import descendants

_PASSED = (
    *("REKINDLE_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NCCL_", "OMP_NUM_THREADS", "TMPDIR"),
    *("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "USER", "LOGNAME"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""Beginnings of the variables that go in; any other is of the host's own programs and libraries."""
_LIMIT_S = 30


class Container:
    """The container of one run; on a host where the driver sees the engine's processes, it sees these."""

    def __init__(self, spec: RunSpec, docker: str) -> None:
        """Take what is run, and the path of its engine."""
        self._spec, self._docker, self._name = spec, docker, f"rekindle-{spec.nonce}"
        self._first: psutil.Process | None = None

    def command(self, words: list[str], run_dir: Path, environ: Mapping[str, str]) -> list[str]:
        """Return what starts ``words`` in it, by the image's Python in place of the environment's.

        The run's folder, TMPDIR and our own code have the same paths inside, and this user owns what comes of
        it. Values of variables stay off the command line.
        """
        example = self._spec.job.example
        if example is None or example.container is None:
            raise ValueError(f"{self._spec.job.name} names no image.")
        gpus = [uuid for uuid in environ["CUDA_VISIBLE_DEVICES"].split(",") if uuid]
        own = (str(run_dir), self._spec.tmpdir, f"{PACKAGE.parent}:{PACKAGE.parent}:ro")
        names = [name for name in environ if name in example.environ or name.startswith(_PASSED)]
        return [
            *(self._docker, "run", "--rm", "--init", "--name", self._name, "--network=host", "--ipc=host"),
            *("--ulimit", "memlock=-1", "--ulimit", "stack=67108864"),
            *("--user", f"{os.getuid()}:{os.getgid()}"),
            *(("--gpus", f'"device={",".join(gpus)}"') if gpus else ()),
            *(word for path in own for word in ("--volume", path if ":" in path else f"{path}:{path}")),
            *(word for name in sorted(names) for word in ("--env", name)),
            *("--env", f"HOME={self._spec.tmpdir}", "--workdir", str(run_dir / folders.JOB)),
            *(example.container.image, "python3", *words[1:]),
        ]

    def processes(self) -> list[psutil.Process]:
        """Return docker's client, and the container's where the engine's PIDs are this machine's."""
        self._first = self._first or self._init()
        inside: list[psutil.Process] = []
        if self._first is not None:
            with suppress(psutil.Error):
                inside = [self._first, *self._first.children(recursive=True)]
        return [*descendants(), *inside]

    def end(self) -> None:
        """Kill and remove it, if it is there."""
        self._ask("rm", "--force", self._name)

    def _init(self) -> psutil.Process | None:
        """Return its first process, above all others; known by its nonce, as a PID may be another's."""
        pid = self._ask("inspect", "--format", "{{.State.Pid}}", self._name)
        with suppress(psutil.Error, ValueError):
            process = psutil.Process(int(pid))
            if process.environ().get("REKINDLE_NONCE") == self._spec.nonce:
                return process
        return None

    def _ask(self, *words: str) -> str:
        with suppress(OSError, subprocess.TimeoutExpired):
            command = [self._docker, *words]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
            return done.stdout.strip()
        return ""
