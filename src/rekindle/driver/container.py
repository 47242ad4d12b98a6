# SPDX-License-Identifier: Apache-2.0
"""A run in a container: what starts it, which processes belong to it, and what ends it.

The driver's child is the engine's client; the container's processes may be children of a daemon.
"""

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from rekindle.host import folders
from rekindle.host.engines import KINDS, Box, name_container
from rekindle.host.paths import PACKAGE
from rekindle.records import RunSpec

from .processes import end_until_none, find_started_with

_PASSED = (
    *("REKINDLE_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NCCL_", "OMP_NUM_THREADS", "TMPDIR"),
    *("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "USER", "LOGNAME"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""Prefixes of the variables that go in; all others concern the host's programs and libraries."""
_LIMIT_S = 60


class RunContainer:
    """The container of one run, which has this machine's PIDs."""

    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        """Take the run's folder, and its spec, which names an engine."""
        if spec.engine is None or spec.job.image is None:
            raise ValueError(f"{spec.job.name} runs in no container.")
        root = str(folders.find_root(run_dir))
        self._run_dir, self._spec, self._image = run_dir, spec, spec.job.image
        self._engine = KINDS[spec.engine.name](spec.engine.path, root)
        self._cdi = spec.engine.cdi and not spec.engine.nvidia

    def start(self, words: list[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """Return the command that runs ``words`` in it by the image's Python, and its variables.

        The run's folder, TMPDIR and our own code have the same paths inside, and this user owns what comes of
        it.
        """
        spec, example = self._spec, self._spec.job.example
        own = example.environ if example else {}
        box = Box(
            image=self._engine.pin_image(self._image, spec.versions.get("image id")),
            name=name_container(self._run_dir),
            folder=str(self._run_dir / folders.JOB),
            home=spec.tmpdir,
            volumes=(
                *(f"{path}:{path}" for path in (self._run_dir, spec.tmpdir)),
                f"{PACKAGE.parent}:{PACKAGE.parent}:ro",
            ),
            variables={
                name: value for name, value in environ.items() if name in own or name.startswith(_PASSED)
            },
            gpus=tuple(dict.fromkeys(uuid for site in spec.sites for uuid in site.gpus)),
            cdi=self._cdi,
        )
        command = [*self._engine.run(box), "python3", *words[1:]]
        return command, {**environ, **self._engine.environ(box)}

    def processes(self) -> list[psutil.Process]:
        """Return the engine's client, and what is in the container, regardless of who started it."""
        evidence = str(self._run_dir / folders.EVIDENCE)
        return find_started_with(lambda own: own.get("REKINDLE_EVIDENCE") == evidence)

    def end(self) -> None:
        """Kill and remove it, if it is there."""
        for command in self._engine.end(name_container(self._run_dir)):
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False)
        end_until_none(self.processes)
