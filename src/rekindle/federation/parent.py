# SPDX-License-Identifier: Apache-2.0
"""NVFlare's parent process of a host, in a copy of the participant's kit, which it fills with its files.

The copy is gone after the run, and the kit stays as it is. What a job left is laid where the simulator would
have.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROGRAMS = {
    "server": ("server.server_train", "fed_server.json"),
    "site": ("client.client_train", "fed_client.json"),
}
"""Module and settings of NVFlare's parent process, by role."""
_HEARTBEAT_S = 30
"""Silence after which the server takes a site for dead; NVFlare's own is 600 s."""
_ENDS_S = 10.0
_LOCAL = {"scheme": "tcp", "resources": {"host": "127.0.0.1", "listen_host": "127.0.0.1"}}
"""Of a parent's listener for its processes; NVFlare 2.7's would be in clear text on all addresses."""


class Parent:
    """NVFlare's parent process of this host, in a folder of its own."""

    def __init__(self, mine: Mapping[str, Any]) -> None:
        """Start it."""
        self.folder = self.prepare(mine["kit"])
        _settings(self.folder, mine["role"])
        options = ["secure_train=true", "org=rekindle", "config_folder=config"]
        if mine["role"] == "site":
            options.insert(1, f"uid={mine['name']}")
        module, config = _PROGRAMS[mine["role"]]
        command = [sys.executable, "-u", "-m", f"nvflare.private.fed.app.{module}", "-m", str(self.folder)]
        self._process = subprocess.Popen(
            [*command, "-s", config, "--set", *options],
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            start_new_session=True,
        )

    @staticmethod
    def prepare(kit: str) -> Path:
        """Return a new copy of a kit for one run: NVFlare follows no links in it."""
        folder = Path(f"{kit}.run")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kit, folder)
        return folder

    def __enter__(self) -> "Parent":
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and remove its folder with the copy of its key."""
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self) -> None:
        """End it, politely and then with SIGKILL."""
        self._process.terminate()
        if self.wait(_ENDS_S) is None:
            self._process.kill()
            self._process.wait()

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self._process.poll()

    def has_ended(self, who: str) -> str | None:
        """Return how it ended, as a sentence on ``who``; None if it ended well or runs."""
        status = self.poll()
        if status is not None and status < 0:
            return f"{who} was killed by signal {-status}."
        return f"{who} ended with status {status}." if status else None

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; returns its exit status, or None if it still runs."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll()


def _settings(folder: Path, role: str) -> None:
    """Keep NVFlare's files in its folder and its own listener on loopback, and notice a lost site soon."""
    local = folder / "local"
    (local / "comm_config.json").write_text(json.dumps({"internal": _LOCAL}), encoding="utf-8")
    if role == "server":
        path = local / "resources.json"
        source = path if path.exists() else local / "resources.json.default"
        resources = json.loads(source.read_text(encoding="utf-8"))
        resources["servers"][0]["heart_beat_timeout"] = _HEARTBEAT_S
        storage = resources["snapshot_persistor"]["args"]["storage"]
        storage["args"]["root_dir"] = str(folder / "snapshots")
        for component in resources["components"]:
            if component["id"] == "job_manager":
                component["args"]["uri_root"] = str(folder / "jobs")
        path.write_text(json.dumps(resources), encoding="utf-8")


def move_logs(source: Path, target: Path) -> None:
    """Lay a job's files of one participant where the simulator would have them: logs above the rest."""
    if not source.is_dir():
        return
    inner = target / "simulate_job"
    inner.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        shutil.move(path, (target if "log" in path.name and path.is_file() else inner) / path.name)
