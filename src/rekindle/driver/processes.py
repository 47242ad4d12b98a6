"""Process trees: who descends from the supervisor, and how they end."""

from __future__ import annotations

import ctypes

import psutil

_PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphaned descendants become our children, so that none gets away."""


def adopt_orphans() -> None:
    """Keep every descendant in this process's tree, also the simulator, which leaves its session."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def descendants() -> list[psutil.Process]:
    """All processes below this one."""
    return psutil.Process().children(recursive=True)


def end_descendants(grace_s: float = 3.0) -> int:
    """End all processes below this one, politely and then with SIGKILL; returns how many there were.

    A stopped process takes no SIGTERM, and a dying one may leave children, so it is repeated until
    none is left or a process cannot be killed (D state) within ten tries.
    """
    total = 0
    for attempt in range(10):
        alive = [process for process in descendants() if process.status() != psutil.STATUS_ZOMBIE]
        if not alive:
            break
        total = max(total, len(alive))
        for process in alive:
            try:
                process.terminate() if attempt == 0 else process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(alive, timeout=grace_s)
    return total
