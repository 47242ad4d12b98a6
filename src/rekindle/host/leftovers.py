# SPDX-License-Identifier: Apache-2.0
"""What Rekindle has on a host outside its root: processes, and folders for temporary files.

Standard library alone, as nothing else may work on a host that is retired.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from . import folders, queues
from .engines import KINDS, name_container
from .look import is_held

BUILDER = "environments"
BESIDE = {BUILDER: folders.BUILD_LOCK, "fabric": f"{folders.FABRIC}/{folders.FABRIC_LOCK}"}
"""Work that is no run: its name, and its lock below the root."""
_STOPS_WITHIN_S = 60
"""A supervisor that is asked to stop ends its run, and records its end."""
_ABANDONED_S = 120
"""No task needs its folder for so long without writing to it."""


def find_running(root: Path) -> list[str]:
    """Return the names of the runs in progress, and of the work beside them."""
    return [*_find_locks(root)]


def _find_locks(root: Path) -> dict[str, Path]:
    """Return the lock of what is in progress, by its name."""
    locks = {name: root / lock for name, lock in BESIDE.items()}
    locks |= {run.name: run / folders.DRIVER_LOCK for run in sorted(root.glob(f"{folders.RUNS}/*"))}
    return {name: lock for name, lock in locks.items() if is_held(lock) or queues.is_queued(lock.parent)}


def end_processes(root: Path) -> None:
    """Ask runs to end themselves and record it; then end what else runs from ``root``."""
    for lock in _find_locks(root).values():
        queues.cancel_queued(lock.parent)
    for pid, command in _processes(root).items():
        if _is_ours(command, root):
            _signal(pid, signal.SIGTERM)
    _wait(lambda: not find_running(root), _STOPS_WITHIN_S)
    _end_containers(root)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _processes(root):
            _signal(pid, number)
        _wait(lambda: not _processes(root), 3)


def _end_containers(root: Path) -> None:
    """Kill and remove those that killed drivers left."""
    for path in root.glob(f"{folders.RUNS}/*/{folders.SPEC}"):
        with suppress(ValueError, KeyError, TypeError, OSError, subprocess.TimeoutExpired):
            engine = json.loads(path.read_text(encoding="utf-8"))["engine"]
            for command in KINDS[engine["name"]](engine["path"], str(root)).end(name_container(path.parent)):
                subprocess.run(command, capture_output=True, timeout=_STOPS_WITHIN_S, check=False)


def find_outside(root: Path) -> list[Path]:
    """Return Rekindle's folders elsewhere: of runs in TMPDIR, and of killed tasks."""
    found = set()
    for path in root.glob(f"{folders.RUNS}/*/{folders.SPEC}"):
        with suppress(ValueError, KeyError, TypeError, OSError):
            tmpdir = Path(json.loads(path.read_text(encoding="utf-8"))["tmpdir"])
            if tmpdir.name.startswith("rekindle-") and not tmpdir.is_relative_to(root):
                found.add(tmpdir)
    for parent in {Path("/dev/shm"), Path("/tmp"), Path(tempfile.gettempdir()), Path.home()}:
        with suppress(OSError):
            ours = [path for path in parent.iterdir() if re.fullmatch(r"rekindle-[0-9a-f]{16}", path.name)]
            found |= {path for path in ours if time.time() - path.stat().st_mtime > _ABANDONED_S}
    return [path for path in sorted(found) if _own(path)]


def _own(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.getuid()


def _processes(root: Path) -> dict[int, list[str]]:
    """Return the command of each other process that was started from ``root``, or for a run in it."""
    found = {}
    ours = {str(os.getpid()), str(os.getppid())}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder.name in ours:
                continue
            command = (folder / "cmdline").read_text(errors="replace").split("\0")
            runs = f"REKINDLE_EVIDENCE={root}/{folders.RUNS}/".encode() in (folder / "environ").read_bytes()
            if runs or command[0].startswith(f"{root}/") or _is_ours(command, root):
                found[int(folder.name)] = command
    return found


def _is_ours(command: list[str], root: Path) -> bool:
    """Whether a process supervises a run in ``root``, or builds its environments."""
    verb, folder = command[1:4], Path(*command[4:5])
    ours = verb in (["-m", "rekindle.driver", "supervise"], ["-m", "rekindle.environments", "build"])
    return ours and folder.is_relative_to(root)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _wait(done: Callable[[], bool], limit_s: float) -> None:
    ends = time.monotonic() + limit_s
    while not done() and time.monotonic() < ends:
        time.sleep(0.1)
