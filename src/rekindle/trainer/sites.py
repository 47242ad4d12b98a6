"""The sites of this run, as the driver placed them, and the command that starts a site's trainers."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

SITE = os.environ.get("REKINDLE_SITE", "")
"""Name of the site that this trainer belongs to."""


class Sites:
    """What job.py needs to know of the run: site names, and each site's trainer command."""

    def __init__(self, spec: dict[str, Any]) -> None:
        """Take the run's specification, a RunSpec as builtins."""
        self._sites: dict[str, dict[str, Any]] = {site["name"]: site for site in spec["sites"]}
        self._operations: str = spec["cross_device_ops"] or ""
        self.names = list(self._sites)

    @classmethod
    def from_environment(cls) -> Sites:
        """Read the specification that the driver named in REKINDLE_SPEC."""
        return cls(json.loads(Path(os.environ["REKINDLE_SPEC"]).read_text(encoding="utf-8")))

    def ranks(self, site: str) -> int:
        """How many ranks (processes under torchrun, replicas under MirroredStrategy) a site has."""
        return int(self._sites[site]["ranks"])

    def torchrun(self, site: str) -> str:
        """Command line that starts a site's ranks; its rendezvous port is one that is free."""
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nnodes=1"]
        return self._command(site, {}, [*torchrun, f"--nproc-per-node={self.ranks(site)}"])

    def python(self, site: str) -> str:
        """Command line that starts a site's one process, which uses all of its GPUs."""
        settings = {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "REKINDLE_CROSS_DEVICE_OPS": self._operations}
        return self._command(site, settings, ["-u"])

    def _command(self, site: str, more: dict[str, str], arguments: list[str]) -> str:
        """Start Python with the site's name and exactly its own GPUs, by UUID (none: CPU)."""
        gpus = ",".join(self._sites[site]["gpus"])
        settings = {"REKINDLE_SITE": site, "CUDA_VISIBLE_DEVICES": gpus, **more}
        pairs = [f"{name}={value}" for name, value in settings.items()]
        return shlex.join(["env", *pairs, sys.executable, *arguments])
