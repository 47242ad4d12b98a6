# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.fabric start|conduct|lead|play FOLDER``, on hosts.

``start`` reads the host's part of a survey, JSON, from standard input, and leaves a player behind, and on the
first host a conductor, which both end by themselves. While they go on, it starts nothing. For nodes of a
cluster it queues ``lead``, which is the conductor on the first of them and starts a player on each.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from rekindle.host import background, folders, queues, storage
from rekindle.host.variables import make_path, select_for_jobs

SPEC = "part.json"


def start_part(folder: Path, text: str) -> None:
    """Start a host's part, unless one goes on."""
    storage.make_folder(folder)
    spec: dict[str, Any] = json.loads(text)
    with background.hold_lock(folder / folders.FABRIC_LOCK) as lock:
        if lock is None or queues.is_queued(folder):
            return
        for left in (folders.PROGRESS, folders.FABRIC_RECORD, queues.JOB):
            (folder / left).unlink(missing_ok=True)
        storage.write_file(folder / SPEC, text.encode())
        environ = select_for_jobs(os.environ)
        if spec["allocation"]:
            lead = [sys.executable, "-m", "rekindle.fabric", "lead", str(folder)]
            queues.submit_job(folder, lead, spec["allocation"], environ)
            return
        if spec["conducts"]:
            background.write_progress(folder / folders.PROGRESS, "running", "hosts join", 0.0)
            background.start_module(
                ["rekindle.fabric", "conduct", str(folder)], lock, folder / "conductor.log", environ
            )
        environ |= {"CUDA_VISIBLE_DEVICES": ",".join(spec["gpus"])}
        environ["PATH"] = make_path(spec["python"], environ)
        with (folder / "player.log").open("wb") as log:
            background.spawn_command(_make_player(folder, spec), log, env=environ, pass_fds=[lock.fileno()])


def _make_player(folder: Path, spec: dict[str, Any]) -> list[str]:
    return [spec["python"], "-m", "rekindle.fabric", "play", str(folder)]


def start_players(folder: Path, spec: dict[str, Any]) -> dict[str, Any]:
    """Start a player on each node of the job that this process is in; return the part of the first.

    Raises:
        QueueError: the batch system does not list them.
    """
    queue = queues.load_queue(spec["allocation"]["room"])
    nodes = queue.list_nodes()
    spec = {**spec, "hosts": nodes, "address": nodes[0]}
    storage.write_file(folder / SPEC, json.dumps(spec).encode())
    environ = {**os.environ, "PATH": make_path(spec["python"], os.environ)}
    with (folder / "player.log").open("wb") as log:
        for node in nodes:
            launch = queue.make_launch(node, _make_player(folder, spec))
            background.spawn_command(launch, log, env=environ)
    return spec


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, folder = sys.argv[1], Path(sys.argv[2])
    if verb == "start":
        try:
            start_part(folder, sys.stdin.read())
        except queues.QueueError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    spec = json.loads((folder / SPEC).read_bytes())
    if verb in {"conduct", "lead"}:
        from .conductor import run_conductor  # noqa: PLC0415 - it needs the driver's environment

        try:
            run_conductor(folder, start_players(folder, spec) if verb == "lead" else spec)
        except queues.QueueError as error:
            background.write_progress(folder / folders.PROGRESS, "failed", str(error), 0.0)
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
