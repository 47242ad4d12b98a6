# SPDX-License-Identifier: Apache-2.0
"""Process trees: who descends from the supervisor, how they end, and their Python stacks by py-spy."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphaned descendants become our children, so that none gets away."""
_GONE = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
_GRACE_S = 3.0


def adopt_orphans() -> None:
    """Keep every descendant in this process's tree, also the simulator, which leaves its session."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def reap_orphans(but: Collection[int]) -> None:
    """Reap adopted children that have ended; ``but`` has the PIDs of those that somebody here waits for.

    NVFlare 2.9 waits for a trainer's whole process group, to which a child that nobody reaped belongs.
    """
    for child in psutil.Process().children():
        if child.pid not in but and read_status(child) == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, os.WNOHANG)


def find_descendants() -> list[psutil.Process]:
    """All processes below this one."""
    return psutil.Process().children(recursive=True)


def read_status(process: psutil.Process) -> str:
    """Return a process's state by psutil's names; dead for one that has ended."""
    with suppress(psutil.NoSuchProcess):
        return str(process.status())
    return str(psutil.STATUS_DEAD)


def find_started_with(matches: Callable[[Mapping[str, str]], bool]) -> list[psutil.Process]:
    """Return the processes of this machine whose environment ``matches``, whatever their parent is."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if matches(process.environ()):
                found.append(process)
    return found


def find_members(folder: Path) -> list[psutil.Process]:
    """Return the processes on this node of a run, or of all runs in a folder, whatever their parent is."""
    return find_started_with(lambda own: own.get("REKINDLE_EVIDENCE", "").startswith(f"{folder}/"))


def end_descendants(but: Sequence[psutil.Process] = ()) -> None:
    """End all processes below this one ``but`` these, and those that they leave as they die."""

    def alive() -> list[psutil.Process]:
        return [
            process
            for process in find_descendants()
            if process not in but and read_status(process) not in _GONE
        ]

    end_until_none(alive)


def end_until_none(find: Callable[[], list[psutil.Process]]) -> None:
    """End what ``find`` returns, and what it finds after that, ten times at most."""
    for _ in range(10):
        if not (found := find()):
            break
        end_all(found)


def end_all(processes: list[psutil.Process]) -> None:
    """End processes, politely and then with SIGKILL, which alone reaches a stopped one."""
    for signal in (psutil.Process.terminate, psutil.Process.kill):
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                signal(process)
        _, processes = psutil.wait_procs(processes, timeout=_GRACE_S)


_LIMIT_S = 10
_ENDING = ("_python_exit (concurrent/futures/thread.py", "_shutdown (threading.py")


def dump_stack(pid: int) -> str:
    """Return the stacks of all threads of a process, or py-spy's reason why there are none."""
    command = [str(Path(sys.executable).with_name("py-spy")), "dump", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"Process {pid}: py-spy got no answer within {_LIMIT_S} s."
    return done.stdout or f"Process {pid}: {' '.join(done.stderr.split())}"


def has_main_thread_ended(pid: int) -> bool:
    """Whether the main thread has run out of code, so that only another thread keeps the process alive."""
    main = dump_stack(pid).partition('"MainThread"')[2].partition("\nThread")[0]
    return any(frame in main for frame in _ENDING)
