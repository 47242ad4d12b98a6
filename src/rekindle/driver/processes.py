"""Process trees: who descends from the supervisor, and how they end."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress

import psutil

_PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphaned descendants become our children, so that none gets away."""
_GONE = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}


def adopt_orphans() -> None:
    """Keep every descendant in this process's tree, also the simulator, which leaves its session."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def descendants() -> list[psutil.Process]:
    """All processes below this one."""
    return psutil.Process().children(recursive=True)


def status(process: psutil.Process) -> str:
    """Return a process's state by psutil's names; dead for one that is gone."""
    with suppress(psutil.NoSuchProcess):
        return str(process.status())
    return str(psutil.STATUS_DEAD)


def end_descendants(but: Sequence[psutil.Process] = ()) -> None:
    """End all processes below this one ``but`` these, and those that they leave as they die."""
    for _ in range(10):
        found = (process for process in descendants() if process not in but)
        alive = [process for process in found if status(process) not in _GONE]
        if not alive:
            break
        end_all(alive)


def end_all(processes: list[psutil.Process], grace_s: float = 3.0) -> None:
    """End processes, politely and then with SIGKILL, which alone reaches a stopped one."""
    for signal in (psutil.Process.terminate, psutil.Process.kill):
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                signal(process)
        _, processes = psutil.wait_procs(processes, timeout=grace_s)
