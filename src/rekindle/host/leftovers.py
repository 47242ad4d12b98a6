"""What Rekindle has on a host beside its root: processes, and folders for temporary files.

Standard library alone, as a host that is retired may have nothing else that works.
"""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from . import folders, slurm
from .look import held

BUILDER = "environments"
_STOPS_WITHIN_S = 60
"""A supervisor that is asked to stop ends its run, and judges it."""
_ABANDONED_S = 120
"""No task needs its folder for so long without writing to it."""


def running(root: Path) -> list[str]:
    """Return the names of the runs that go on, and BUILDER's if environments are being built."""
    locks = {BUILDER: root / folders.BUILD_LOCK}
    locks |= {run.name: run / folders.DRIVER_LOCK for run in sorted(root.glob(f"{folders.RUNS}/*"))}
    return [name for name, path in locks.items() if held(path) or slurm.queued(path.parent)]


def end_processes(root: Path) -> None:
    """Have runs end themselves, and their verdicts written; then end what else runs out of ``root``."""
    for name in running(root):
        slurm.cancel(root / (folders.BUILDS if name == BUILDER else f"{folders.RUNS}/{name}"))
    for pid, command in _processes(root).items():
        if _is_ours(command, root):
            _signal(pid, signal.SIGTERM)
    _wait(lambda: not running(root), _STOPS_WITHIN_S)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _processes(root):
            _signal(pid, number)
        _wait(lambda: not _processes(root), 3)


def outside(root: Path) -> list[Path]:
    """Return the folders that Rekindle made elsewhere: runs' own in TMPDIR, and what a killed task left."""
    found = set()
    for path in root.glob(f"{folders.RUNS}/*/{folders.SPEC}"):
        with suppress(ValueError, KeyError, TypeError, OSError):
            tmpdir = Path(json.loads(path.read_text(encoding="utf-8"))["tmpdir"])
            if tmpdir.name.startswith("rekindle-") and not tmpdir.is_relative_to(root):
                found.add(tmpdir)
    for parent in {Path("/dev/shm"), Path("/tmp"), Path(tempfile.gettempdir()), Path.home()}:
        with suppress(OSError):
            found |= {path for path in parent.glob("rekindle-*") if _abandoned(path)}
    return [path for path in sorted(found) if _own(path)]


def _abandoned(path: Path) -> bool:
    unused_s = time.time() - path.stat().st_mtime
    return re.fullmatch(r"rekindle-[0-9a-f]{16}", path.name) is not None and unused_s > _ABANDONED_S


def _own(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.getuid()


def _processes(root: Path) -> dict[int, list[str]]:
    """Return the command of each process that was started out of ``root``, or for a run in it."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
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
