"""Tells from the outside that a run is dead: stopped, ended without going, or silent.

NVFlare itself says so after 300 s, with an error about something else.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil

from rekindle import files
from rekindle.records import RunSpec
from rekindle.records.events import GpuSample

from .memory import nvflare_name
from .processes import descendants, status
from .stacks import main_thread_has_ended

STOPPED_S = 5.0
"""A process that is stopped (SIGSTOP) for so long is not going on by itself."""
DISK_SLEEP_S = 30.0
"""D state: the kernel waits for a device or a file system, which a sound one answers long before."""
ENDED_S = 15.0
"""NVFlare gives trainers 10 s to end after the job; one that ends well is gone by then, as is the server."""
_LOOK_S = 5.0
"""Between two looks at idle trainers' main threads, each of which stops a trainer for some milliseconds."""
_IDLE_SHARE = 0.02
_WORKING_SHARE = 0.5
"""Of one core's time, all processes of the run together; NVFlare's polls alone take a few hundredths."""


class Watchdog:
    """Looks at one run, again and again; a clock of its own, as the system's may be set."""

    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        """Watch the run in ``run_dir``."""
        self._run_dir, self._silence_s, self._sites = run_dir, spec.silence_s, spec.sites
        self._moved = self._looked = time.monotonic()
        self._sizes: dict[Path, int] = {}
        self._since: dict[tuple[int | str, str], float] = {}
        self._cpu: dict[int, float] = {}
        self._clients: set[str] = set()

    def look(self, gpus: dict[str, GpuSample]) -> str | None:
        """Return what is wrong with the run, one sentence; None as long as it may go on.

        Args:
            gpus: the newest sample of the assigned GPUs, by UUID.
        """
        now = time.monotonic()
        processes = descendants()
        said = self._stuck(processes, now)
        if said is None and now - self._looked >= _LOOK_S:
            idle, share = self._idle(processes, now - self._looked)
            self._looked = now
            if self._moves(gpus, share):
                self._moved = now
            said = self._ended(idle, now) or self._lost(processes, now)
            if said is None and now - self._moved > self._silence_s:
                said = (
                    f"Nothing has moved for {self._silence_s} s: no log line, no evidence, no activity "
                    f"of the {'GPUs' if gpus else 'processes'}."
                )
        return said

    def _stuck(self, processes: list[psutil.Process], now: float) -> str | None:
        limits = {
            psutil.STATUS_STOPPED: (STOPPED_S, "is stopped (SIGSTOP)"),
            psutil.STATUS_DISK_SLEEP: (DISK_SLEEP_S, "waits for the kernel (D state)"),
        }
        for process in processes:
            state = status(process)
            for name, (limit_s, words) in limits.items():
                lasting = self._lasts((process.pid, name), state == name, now)
                if lasting > limit_s:
                    return f"Process {process.pid} ({_title(process)}) {words} for {lasting:.0f} s."
        return None

    def _ended(self, idle: list[psutil.Process], now: float) -> str | None:
        """Look at the main threads of idle trainers, and of those whose thread is gone for the kernel."""
        for process in idle:
            ended = main_thread_has_ended(process)
            lasting = self._lasts((process.pid, "ended"), ended, now)
            if lasting > ENDED_S:
                return (
                    f"The main thread of process {process.pid} ({_title(process)}) ended {lasting:.0f} s ago "
                    "and another thread keeps the process alive."
                )
        return None

    def _lost(self, processes: list[psutil.Process], now: float) -> str | None:
        """Look for NVFlare's clients that were there, for which its server goes on waiting."""
        names = set()
        for process in processes:
            with suppress(psutil.Error):
                names.add(nvflare_name(process.cmdline()))
        self._clients |= {site.name for site in self._sites if site.name in names}
        for site in sorted(self._clients):
            lasting = self._lasts((site, "lost"), site not in names and "server" in names, now)
            if lasting > ENDED_S:
                return f"NVFlare's client of {site} ended {lasting:.0f} s ago and the job goes on without it."
        return None

    def _lasts(self, key: tuple[int | str, str], holds: bool, now: float) -> float:
        """Return for how many seconds ``key`` has held without a break, as far as we saw."""
        if not holds:
            self._since.pop(key, None)
            return 0.0
        return now - self._since.setdefault(key, now)

    def _idle(self, processes: list[psutil.Process], seconds: float) -> tuple[list[psutil.Process], float]:
        """Return the trainers that hardly ran since the last look, and the cores that the run kept busy."""
        idle, used, times = [], 0.0, {}
        for process in processes:
            with suppress(psutil.Error):
                spent = sum(process.cpu_times()[:2])
                times[process.pid] = spent
                more = spent - self._cpu.get(process.pid, 0.0)
                used += more
                if more < _IDLE_SHARE * seconds and process.environ().get("REKINDLE_SITE"):
                    idle.append(process)
        self._cpu = times
        return idle, used / seconds

    def _moves(self, gpus: dict[str, GpuSample], share: float) -> bool:
        """Whether any file grew, a GPU computed, or (as long as no rank is on a GPU) the CPU worked.

        A rank that waits in a collective keeps its GPU at 100 % and its memory idle, and a core busy: neither
        counts. (H200, NCCL 2.28: utilisation 100 and 0, where training has either memory in use or pauses.)
        """
        sizes = {}
        for path in self._files():
            with suppress(OSError):  # another run of the name takes files away as we look
                sizes[path] = path.lstat().st_size
        grew, self._sizes = sizes != self._sizes, sizes
        if any(gpu.processes for gpu in gpus.values()):
            return grew or any(gpu.memory_utilisation or 0 < gpu.utilisation < 100 for gpu in gpus.values())
        return grew or share > _WORKING_SHARE

    def _files(self) -> list[Path]:
        patterns = ("job.log", "evidence/*.jsonl", "job/workspace/*/*/log.txt")
        return [path for pattern in patterns for path in files.found(self._run_dir, pattern)]


def _title(process: psutil.Process) -> str:
    """Return what a reader knows a process by: its site and script, or what it runs."""
    with suppress(psutil.Error):
        command = process.cmdline()
        site = process.environ().get("REKINDLE_SITE")
        words = [word for word in command[1:] if not word.startswith("-")]
        return " ".join(" ".join(filter(None, [site, *(words[:1] or command[:1])])).split())[:80]
    return "gone"
