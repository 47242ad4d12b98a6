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
        self._ranks: int = spec["job"]["ranks_per_site"]
        self._gpus: dict[str, list[str]] = {site["name"]: site["gpus"] for site in spec["sites"]}
        self.names = list(self._gpus)

    @classmethod
    def from_environment(cls) -> Sites:
        """Read the specification that the driver named in REKINDLE_SPEC."""
        return cls(json.loads(Path(os.environ["REKINDLE_SPEC"]).read_text(encoding="utf-8")))

    def environment(self, site: str) -> dict[str, str]:
        """Variables of a site's trainers: its name, and its own GPUs by UUID (none: CPU)."""
        return {"REKINDLE_SITE": site, "CUDA_VISIBLE_DEVICES": ",".join(self._gpus[site])}

    def torchrun(self, site: str) -> str:
        """Command line that starts the site's ranks; its rendezvous port is one that is free."""
        settings = [f"{name}={value}" for name, value in self.environment(site).items()]
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nnodes=1"]
        return shlex.join(["env", *settings, *torchrun, f"--nproc-per-node={self._ranks}"])
