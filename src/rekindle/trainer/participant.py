# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.trainer.participant JOB``: NVFlare's client of this site, until its server ends it.

NVFlare's parent processes run in a copy of the participant's kit, which they fill with their files; it is
gone after the run, and the kit stays as it is. What a job left is laid where the simulator would have.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from .variables import MEMBER, WORKSPACE

_PROGRAMS = {
    "server": ("server.server_train", "fed_server.json"),
    "site": ("client.client_train", "fed_client.json"),
}
"""Module and settings of NVFlare's parent process, by role."""
_LOOK_S = 5.0
_REFUSED_S = 20.0
"""For a server that was there: its host answers that nothing listens any more."""
_SILENT_S = 150.0
"""For a host that does not answer at all: NVFlare survives a link that is down for a minute or more."""
_FIRST_S = 300.0
"""Until the server listens for the first time."""
_HEARTBEAT_S = 30
"""Silence after which the server takes a site for dead; NVFlare's own is 600 s."""
_ENDS_S = 10.0
_LOCAL = {"scheme": "tcp", "resources": {"host": "127.0.0.1", "listen_host": "127.0.0.1"}}
"""Of a parent's listener for its processes; NVFlare 2.7's would be in clear text on all addresses."""


def read_participant() -> dict[str, Any]:
    """Return the participant of a federation that this host is."""
    found: dict[str, Any] = json.loads(os.environ[MEMBER])
    return found


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


class Server:
    """What a site sees of its federation's server, by looking at its port."""

    def __init__(self, address: str, port: int) -> None:
        """Nothing was seen yet."""
        self._at, self._there = (address, port), False
        self._good = self._looked = time.monotonic()
        self._why = "has not answered"

    def find_lost(self) -> str | None:
        """Return why the server counts as lost; None as long as it does not."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return None
        self._looked, limit = now, _FIRST_S
        try:
            socket.create_connection(self._at, timeout=_LOOK_S).close()
            self._good, self._there = time.monotonic(), True
            return None
        except ConnectionRefusedError:
            self._why, limit = "refuses connections", _REFUSED_S
        except OSError as error:
            self._why, limit = f"does not answer ({error.strerror or error})", _SILENT_S
        silent = now - self._good
        if silent <= (limit if self._there else _FIRST_S):
            return None
        return f"The server at {self._at[0]}:{self._at[1]} {self._why} for {silent:.0f} s."


def main() -> int:
    """Run the client until its server ends it, or is lost."""
    mine, job = read_participant(), sys.argv[1]
    server, why = Server(mine["address"], mine["port"]), None
    with Parent(mine) as parent:
        while parent.poll() is None and why is None:
            why = server.find_lost()
            parent.wait(0.2)
        if why:
            parent.end()
        for folder in parent.folder.glob("*/app_*"):
            move_logs(folder.parent, Path(os.environ[WORKSPACE], job, mine["name"]))
    why = why or parent.has_ended(f"NVFlare's client of {mine['name']}")
    if why:
        print(why, file=sys.stderr, flush=True)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
