# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.federation.keeper start|run|stop|status FOLDER``: a federation that stays up.

FOLDER has the host's kits, ``member.json``, what the host is in the federation, and the lock of what is up.
Jobs and their results stay in FOLDER when it ends; the copy of the key does not.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from rekindle.host import background, folders, storage
from rekindle.host.look import is_held
from rekindle.host.variables import make_path, select_for_jobs

from .member import merge_member
from .parent import Parent
from .server import ask_connected

_LOCK, _UP, _LOG = "kept.lock", "kept.json", "kept.log"
_VARIABLE = "REKINDLE_KEPT"
"""In the environment of all that is up."""
_ENDS_S = 30.0


class _Kept(Parent):
    """NVFlare's parent process in a folder that outlives it."""

    @staticmethod
    def prepare(kit: str) -> Path:
        """Return a copy of the kit, with the jobs of earlier times."""
        return Path(shutil.copytree(kit, f"{kit}.kept", dirs_exist_ok=True))

    def __exit__(self, *_: object) -> None:
        """End it, and remove the copy of its key."""
        self.end()
        shutil.rmtree(self.folder / "startup", ignore_errors=True)


def start_parent(folder: Path) -> dict[str, Any]:
    """Start NVFlare's parent process, unless one is up; it outlives this session."""
    with background.hold_lock(folder / _LOCK) as lock:
        if lock is None:
            return {"changed": False}
        storage.write_file(folder / _UP, json.dumps({"since": time.time()}).encode())
        environ = {
            **select_for_jobs(os.environ),
            **_member(folder).get("environ", {}),
            "PATH": make_path(sys.executable, os.environ),
            _VARIABLE: str(folder),
        }
        background.start_module(
            ["rekindle.federation.keeper", "run", str(folder)], lock, folder / _LOG, environ
        )
    return {"changed": True}


def keep_parent(folder: Path) -> dict[str, Any]:
    """Keep it up until a signal."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    mine = _member(folder)
    with _Kept(mine) as parent:
        while parent.wait(_ENDS_S) is None:
            pass
    return {"ended": parent.has_ended(f"NVFlare's {mine['role']} {mine['name']}")}


def stop_parent(folder: Path) -> dict[str, Any]:
    """End what is up, and the jobs in it."""
    if not is_held(folder / _LOCK):
        return {"changed": False}
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _up(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        ends = time.monotonic() + _ENDS_S
        while (is_held(folder / _LOCK) or any(_up(folder))) and time.monotonic() < ends:
            time.sleep(0.2)
    for copy in folder.glob("*.kept/startup"):  # of one that was killed
        shutil.rmtree(copy, ignore_errors=True)
    return {"changed": True}


def report_parent(folder: Path) -> dict[str, Any]:
    """Return what is on this host: certificates, modes of keys, NVFlare's release, and what is up.

    ``since`` is in seconds since 1970; ``clients`` are the sites connected to a server and when it last
    had an answer of each, or None if it does not answer.
    """
    mine, up = _member(folder), is_held(folder / _LOCK)
    startup = Path(mine["kit"], "startup")
    found: dict[str, Any] = {
        "certificate": next(startup.glob("*.crt")).read_text(encoding="utf-8"),
        "authority": (startup / "rootCA.pem").read_text(encoding="utf-8"),
        "modes": sorted({f"{path.stat().st_mode & 0o777:04o}" for path in folder.rglob("*.key")}),
        "release": metadata.version("nvflare"),
        "since": None,
        "clients": {},
    }
    if up:
        found["since"] = json.loads((folder / _UP).read_text(encoding="utf-8"))["since"]
        if mine["role"] == "server":
            try:
                found["clients"] = ask_connected(mine)
            except Exception:
                traceback.print_exc()
                found["clients"] = None
    return found


def _member(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / folders.MEMBER).read_text(encoding="utf-8"))
    return merge_member(found["member"])


def _up(folder: Path) -> Iterator[int]:
    """Yield the processes of what is up, but this one."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            mine = f"{_VARIABLE}={folder}".encode() in (process / "environ").read_bytes().split(b"\0")
            if mine and process.name != str(os.getpid()):
                yield int(process.name)


if __name__ == "__main__":
    done = {"start": start_parent, "run": keep_parent, "stop": stop_parent, "status": report_parent}[
        sys.argv[1]
    ](Path(sys.argv[2]))
    print(json.dumps(done), flush=True)
    os._exit(0)  # a session of NVFlare's leaves threads
