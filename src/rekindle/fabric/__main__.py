# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.fabric start FOLDER``, ``… conduct FOLDER`` and ``… play FOLDER``, on hosts.

``start`` reads the host's part of a survey, JSON, from standard input, and leaves a player behind, and on the
first host a conductor, which both end by themselves. While they go on, it starts nothing.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from rekindle.host import background, folders, storage
from rekindle.host.variables import make_path, select_for_jobs

SPEC = "part.json"


def start_part(folder: Path, text: str) -> None:
    """Start a host's part, unless one goes on."""
    storage.make_folder(folder)
    spec: dict[str, Any] = json.loads(text)
    with background.hold_lock(folder / folders.FABRIC_LOCK) as lock:
        if lock is None:
            return
        for left in (folders.PROGRESS, folders.FABRIC_RECORD):
            (folder / left).unlink(missing_ok=True)
        storage.write_file(folder / SPEC, text.encode())
        environ = select_for_jobs(os.environ)
        if spec["conducts"]:
            background.write_progress(folder / folders.PROGRESS, "running", "hosts join", 0.0)
            background.start_module(
                ["rekindle.fabric", "conduct", str(folder)], lock, folder / "conductor.log", environ
            )
        environ |= {"CUDA_VISIBLE_DEVICES": ",".join(spec["gpus"])}
        environ["PATH"] = make_path(spec["python"], environ)
        with (folder / "player.log").open("wb") as log:
            command = [spec["python"], "-m", "rekindle.fabric", "play", str(folder)]
            background.spawn_command(command, log, env=environ, pass_fds=[lock.fileno()])


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, folder = sys.argv[1], Path(sys.argv[2])
    if verb == "start":
        start_part(folder, sys.stdin.read())
        return 0
    spec = json.loads((folder / SPEC).read_bytes())
    if verb == "conduct":
        from .conductor import run_conductor  # noqa: PLC0415 - it needs the driver's environment

        run_conductor(folder, spec)
    else:
        from .player import serve_conductor  # noqa: PLC0415 - it needs torch

        try:
            serve_conductor(spec)
        except (OSError, ValueError) as error:  # the conductor is gone
            print(repr(error), flush=True)
    print(f"ended at {time.strftime('%H:%M:%S')}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
