# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.trainer.simulation OPTION…``: NVFlare's simulator, of a job or app in this folder.

An app, which has config/ and custom/, is made a job of every site. The options are the simulator's own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rekindle.host import folders

from .variables import WORKSPACE

_SIMULATOR = "nvflare.private.fed.app.simulator.simulator"
_NAME = "simulated"


def main() -> int:
    """Simulate a copy, as the workspace lies in this folder."""
    with tempfile.TemporaryDirectory() as aside:
        job = Path(aside, _NAME)
        is_job = any(Path().glob("meta.*"))
        app = job if is_job else job / "app"
        shutil.copytree(".", app, ignore=lambda folder, _: [folders.WORKSPACE] if folder == "." else [])
        if not is_job:
            meta = {"name": _NAME, "min_clients": 1, "resource_spec": {}, "deploy_map": {"app": ["@ALL"]}}
            (job / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        workspace = str(Path(os.environ[WORKSPACE], _NAME))
        command = [sys.executable, "-m", _SIMULATOR, str(job), "-w", workspace, *sys.argv[1:]]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
