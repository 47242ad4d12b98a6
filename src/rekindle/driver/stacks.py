"""Python stacks of other processes, by py-spy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_LIMIT_S = 10
_ENDING = ("_python_exit (concurrent/futures/thread.py", "_shutdown (threading.py")


def stack(pid: int) -> str:
    """Return the stacks of all threads of a process, or py-spy's word on why there are none."""
    command = [str(Path(sys.executable).with_name("py-spy")), "dump", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"Process {pid}: py-spy got no answer within {_LIMIT_S} s."
    return done.stdout or f"Process {pid}: {' '.join(done.stderr.split())}"


def main_thread_has_ended(pid: int) -> bool:
    """Whether the main thread has run out of code, so that only another thread keeps the process alive."""
    main = stack(pid).partition('"MainThread"')[2].partition("\nThread")[0]
    return any(frame in main for frame in _ENDING)
