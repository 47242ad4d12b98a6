# SPDX-License-Identifier: Apache-2.0
"""A run's processes at one moment, read once for all users."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psutil

from rekindle.flare.processes import find_member

_INTERPRETER = re.compile(r"python[\d.]*|sh|bash")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


Key = tuple["str | None", int]
"""What identifies a process among all of a run: its node, if it is not this one, and its PID."""


class Times(NamedTuple):
    """What a thread did so far."""

    ran: float = 0.0
    """Seconds."""
    waited: float = 0.0
    """Seconds in which it was ready to and had no CPU, by load or by a cgroup's quota."""
    slices: int = 0
    """How often it was given a CPU."""


@dataclass(frozen=True)
class Process:
    """One process of a run that has not ended."""

    pid: int
    title: str
    """What a reader knows it by: its site and script, or what it runs."""
    state: str
    """Letter of proc(5): ``T`` is stopped, ``D`` waits for the kernel."""
    site: str | None = None
    nvflare: str | None = None
    """Of NVFlare's own processes: ``server``, or the client's site."""
    memory_kib: int = 0
    peak_kib: int = 0
    parent: int = 0
    born: float = 0.0
    """Distinguishes processes with the same PID."""
    cpu_s: float = 0.0
    """CPU time, of threads that have ended too, which the kernel rounds down to 10 ms."""
    threads: dict[int, Times] = field(default_factory=dict)
    node: str | None = None
    """Where it is, if not on this machine."""

    @property
    def key(self) -> Key:
        """What identifies it in its run."""
        return self.node, self.pid

    def __str__(self) -> str:
        """Return its name in messages."""
        return f"{self.pid}{f' on {self.node}' if self.node else ''} ({self.title})"


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment of the monotonic clock, in seconds."""

    at: float
    processes: tuple[Process, ...] = ()
    said: int = 0
    """How much of its logs and evidence was new so far."""

    @property
    def peaks_mib(self) -> dict[str, int]:
        """The most host memory that each of NVFlare's processes has used so far, by its name."""
        found: dict[str, int] = {}
        for process in self.processes:
            if process.nvflare:
                found[process.nvflare] = max(found.get(process.nvflare, 0), process.peak_kib >> 10)
        return found


def list_living(found: Iterable[psutil.Process]) -> tuple[Process, ...]:
    """Return the processes that have not ended."""
    processes = []
    for process in found:
        with suppress(psutil.Error, OSError):
            with process.oneshot():
                living = _process(process)
            if living.state not in "ZX":
                processes.append(living)
    return tuple(processes)


def _process(process: psutil.Process) -> Process:
    folder = Path("/proc", str(process.pid))
    lines = (folder / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    command, site = process.cmdline(), process.environ().get("REKINDLE_SITE")
    threads = _threads(folder)
    return Process(
        pid=process.pid,
        title=_title(command, site),
        state=status["State"][0],
        site=site,
        nvflare=find_member(command),
        memory_kib=int(status.get("VmRSS", "0")[0]),
        peak_kib=int(status.get("VmHWM", "0")[0]),
        parent=process.ppid(),
        born=process.create_time(),
        cpu_s=max(sum(process.cpu_times()[:2]), sum(times.ran for times in threads.values())),
        threads=threads,
    )


def _threads(folder: Path) -> dict[int, Times]:
    """Return each thread's times by schedstat; a kernel without it has only what the process ran."""
    times = {}
    for task in (folder / "task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            ran, waited, slices = map(int, (task / "schedstat").read_text(encoding="ascii").split())
            times[int(task.name)] = Times(ran / 1e9, waited / 1e9, slices)
    if times:
        return times
    words = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return {int(folder.name): Times((int(words[11]) + int(words[12])) * _TICK_S)}


def _title(command: list[str], site: str | None) -> str:
    """Return the site and the script, or the program where no interpreter runs one."""
    interpreted = command and _INTERPRETER.fullmatch(Path(command[0]).name)
    words = [word for word in command[1:] if interpreted and not word.startswith("-")]
    return " ".join(" ".join(filter(None, [site, *(words[:1] or command[:1])])).split())[:80]
