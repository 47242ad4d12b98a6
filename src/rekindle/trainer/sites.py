# SPDX-License-Identifier: Apache-2.0
"""The sites of a run, what each was given, and the command that starts a site's trainers."""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

from rekindle.host import folders

from .variables import MEMBER

SITE = os.environ.get("REKINDLE_SITE", "")
LAUNCHER = "REKINDLE_LAUNCHER"
"""Variable with the module that starts ranks where a run has several machines."""


def make_parser(description: str | None = None) -> argparse.ArgumentParser:
    """Return a parser with the options that every job.py has, under the names of NVFlare's own examples."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--client_ids", type=lambda text: text.split(","), default=["site-1", "site-2"], help="site-1,site-2"
    )
    parser.add_argument(
        "--gpu",
        default="[cpu,cpu],[cpu,cpu]",
        help="the GPUs of each site, one per rank: [0,1],[2,3], or 0,1; UUIDs do too; cpu is a rank without",
    )
    parser.add_argument("--num_rounds", type=int, default=3)
    parser.add_argument("--local_epoch", type=int, default=2, help="epochs of each round")
    return parser


class Sites:
    """What job.py needs to know of the run: site names, and each site's trainer command."""

    def __init__(self, client_ids: list[str], gpu: str) -> None:
        """Take ``--client_ids`` and ``--gpu``; evidence goes to the driver's folder, or to evidence/ here.

        Raises:
            SystemExit: the two do not go together.
        """
        sets = [
            (many or alone).split(",") for many, alone in re.findall(r"\[([^\[\]]+)\]|([^\[\],\s]+)", gpu)
        ]
        if len(sets) != len(client_ids):
            raise SystemExit(
                f"--gpu {gpu} is for {len(sets)} sites and --client_ids names {len(client_ids)}. "
                "Fix: one set in brackets per site, such as --gpu [0,1],[2,3]."
            )
        self._devices = dict(zip(client_ids, sets, strict=True))
        self.names = list(self._devices)
        here = str(Path(folders.EVIDENCE).absolute())
        Path(os.environ.setdefault("REKINDLE_EVIDENCE", here)).mkdir(exist_ok=True)

    def ranks(self, site: str) -> int:
        """How many ranks (processes under torchrun, TensorFlow's replicas) a site has."""
        return len(self._devices[site])

    @property
    def on_gpu(self) -> bool:
        """Whether any site has a GPU; job.py itself sees none."""
        return any(name != "cpu" for names in self._devices.values() for name in names)

    @property
    def shutdown_timeout(self) -> float:
        """Seconds that trainers have to end by themselves; NVFlare's recipes take it.

        NVFlare kills what has not ended 10 s after an abort; what starts ranks on several machines has to
        know before.
        """
        return 3.0 if LAUNCHER in os.environ else 10.0

    def torchrun(self, site: str) -> str:
        """Command line that starts a site's ranks, on this machine or on all of the run's."""
        return self._command(site)

    def python(self, site: str) -> str:
        """Command line that starts a site's one process with all of its GPUs, or one on each node."""
        return self._command(site, "--replicas", TF_FORCE_GPU_ALLOW_GROWTH="true")

    def _command(self, site: str, *options: str, **more: str) -> str:
        """Start the launcher with the site's name and exactly its own GPUs (none: CPU)."""
        gpus = ",".join(name for name in self._devices[site] if name != "cpu")
        settings = {"REKINDLE_SITE": site, "CUDA_VISIBLE_DEVICES": gpus, **more}
        pairs = [f"{name}={value}" for name, value in settings.items()]
        numbers = [f"--site={self.names.index(site)}", f"--ranks={self.ranks(site)}"]
        # Each host of a federation has its own Python, and its own folder of the run.
        python = "python" if MEMBER in os.environ else sys.executable
        launcher = os.environ.get(LAUNCHER, "rekindle.trainer.launch")
        launch = [python, "-m", launcher, f"--here={Path.cwd()}", *numbers, *options]
        return shlex.join(["env", *pairs, *launch])
