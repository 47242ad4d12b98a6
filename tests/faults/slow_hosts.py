# SPDX-License-Identifier: Apache-2.0
"""Slow hosts: a run in a cgroup of its own, with a quota of a core's time or among busy processes."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

_V1, _V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_BUSY = "while True: pass"
_WEIGHS = 4
"""What a run among busy processes weighs with all of these beside any other process of this machine."""


def refusal():
    """Return why no cgroup with a quota can be made here; None where one can be."""
    if os.geteuid() != 0:
        return "A cgroup needs root. Fix: run the tests as root."
    subtree = _V2 / "cgroup.subtree_control"
    if (_V1 / "cpu.cfs_quota_us").exists() or (subtree.exists() and "cpu" in subtree.read_text().split()):
        return None
    return "No cgroup here has the cpu controller. Fix: enable it in /sys/fs/cgroup/cgroup.subtree_control."


def throttled(cores):
    """Return what gives a run no more than ``cores`` of the machine."""

    def act(live):
        folder = _group(live)
        quota = int(cores * _PERIOD_US)
        if folder.parent == _V1:
            (folder / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (folder / "cpu.max").write_text(f"{quota} {_PERIOD_US}")

    return act


def crowded(processes):
    """Return what has so many busy processes compete with a run for one core, which leaves others alone."""
    core = {min(os.sched_getaffinity(0))}

    def act(live):
        folder = _group(live)
        name, weight = ("cpu.shares", 1024) if folder.parent == _V1 else ("cpu.weight", 100)
        (folder / name).write_text(str(weight * _WEIGHS))
        threads = folder / ("tasks" if folder.parent == _V1 else "cgroup.threads")
        for thread in threads.read_text().split():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), core)
        for _ in range(processes):
            busy = subprocess.Popen([sys.executable, "-c", _BUSY])
            os.sched_setaffinity(busy.pid, core)
            live.afterwards.callback(busy.wait)
            live.afterwards.callback(busy.kill)
            (folder / "cgroup.procs").write_text(str(busy.pid))

    return act


def _group(live):
    """Return a new cgroup that holds the run and all that it will start, and is gone after it."""
    root = _V1 if _V1.is_dir() else _V2
    folder = root / f"rekindle-run-{live.supervisor.pid}"
    folder.mkdir()
    live.afterwards.callback(_remove, folder)
    for process in (live.supervisor, *live.supervisor.children(recursive=True)):
        with suppress(psutil.Error, ProcessLookupError):
            (folder / "cgroup.procs").write_text(str(process.pid))
    return folder


def _remove(folder):
    """Remove a cgroup once the kernel has let go of its last process."""
    for _ in range(100):
        with suppress(OSError):
            return folder.rmdir()
        time.sleep(0.1)
    raise AssertionError(f"{folder} still holds {(folder / 'cgroup.procs').read_text().split()}")
