# SPDX-License-Identifier: Apache-2.0
"""Detects from outside that a run is dead: a process is stopped, has ended but stays, or the run is silent.

NVFlare itself reports this after 300 s, as another error. Slow is not dead: a thread that always runs or
waits for a CPU works, however small its share on a busy machine or under a quota.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from rekindle.flare.workspace import SERVER
from rekindle.records import RunSpec
from rekindle.records.events import GpuSample

from .processes import has_main_thread_ended
from .snapshot import Key, Process, Snapshot, Times

STOPPED_S = 5.0
"""A process that is stopped (SIGSTOP) for so long is not going on by itself."""
DISK_SLEEP_S = 30.0
"""D state without any CPU time: the kernel waits for a device or a file system, which a sound one answers."""
_STARTING, _STARTING_S = 4, 240.0
"""Times ``silence_s`` before the first results, up to so long: a download or first compilation shows nothing
for minutes. A job that may be silent for longer has said so itself."""
ENDED_S = 15.0
"""NVFlare gives trainers 10 s to end after the job; the server and a trainer that ends well need less."""
LOOK_S = 5.0
"""Between two samples of work and of idle trainers' main threads; py-spy stops a process for milliseconds."""
_IDLE_SHARE = 0.02
_WORKING_SHARE = 0.5
"""Of one core's time, all processes of the run together; NVFlare's polls alone take a few hundredths."""
_EAGER_SHARE = 0.8
"""Of the time in which a thread ran or waited for a CPU; one that computes comes to 1.0 on any host."""
_SLICE_S = 0.0002
"""Shortest time for which an eager thread keeps a CPU. NVFlare's polls take 0.03 to 0.08 ms, and ran or
waited for 0.3 of the time at load 20 on 2 cores; a thread that computes kept it for 2 ms at 0.2 cores."""
_LOADED_KIB = 16 << 10
"""Growth of a process's peak memory between two samples that shows imports or loading of data.
NVFlare's waiting processes grow by 1 to 7 MiB per sample, for minutes."""
_FRUITLESS = 10
"""CPU time that one thread may take without any result, in units of ``silence_s`` …"""
_LONGER = 3
"""… or in units of the longest that it took in this run before a result."""


class ProcessWork(NamedTuple):
    """What a process did between two snapshots."""

    ran: float
    """Cores that it kept busy."""
    eager: bool
    """Whether a thread computed all the time, or waited for a CPU to compute on."""
    longest_s: float
    """CPU time of the thread that ran most."""

    @property
    def works(self) -> bool:
        """Whether it computes, or would if it had a CPU."""
        return self.ran > _WORKING_SHARE or self.eager


def measure_work(before: Snapshot, now: Snapshot) -> dict[Key, ProcessWork]:
    """Return what each process that is there now did since ``before``."""
    seconds, then = now.at - before.at, {process.key: process.threads for process in before.processes}
    done = {}
    for process in now.processes:
        ran, eager, known = [0.0], False, then.get(process.key, {})
        for thread, times in process.threads.items():
            earlier = known.get(thread, Times())
            ran.append(max(0.0, times.ran - earlier.ran))
            busy_s = ran[-1] + max(0.0, times.waited - earlier.waited)
            kept_s = _SLICE_S * (times.slices - earlier.slices)
            eager = eager or (busy_s > _EAGER_SHARE * seconds and ran[-1] >= kept_s)
        done[process.key] = ProcessWork(sum(ran) / seconds, eager, max(ran))
    return done


class _Lasting:
    """For how long conditions have lasted without a break, by the snapshots' clock."""

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[float, object]] = {}

    def seconds(self, condition: Hashable, holds: bool, now: Snapshot, same: object = None) -> float:
        """Return for how long ``condition`` has lasted; it restarts whenever ``same`` changes."""
        if not holds:
            self._since.pop(condition, None)
            return 0.0
        since, before = self._since.get(condition, (now.at, same))
        if before != same:
            since = now.at
        self._since[condition] = since, same
        return now.at - since


class Watchdog:
    """Decides from successive snapshots whether a run is stuck; its time is the snapshots'."""

    def __init__(
        self, spec: RunSpec, start: Snapshot, has_ended: Callable[[int], bool] = has_main_thread_ended
    ) -> None:
        """Watch a run from ``start`` on; ``has_ended`` reports on the main thread of a PID."""
        self._silence_s, self._sites, self._has_ended = spec.silence_s, spec.sites, has_ended
        # Others may give their trainers longer to end.
        self._ending_s = ENDED_S if spec.job.assigns_gpus else spec.silence_s
        self._last, self._moved_at = start, start.at
        self._lasting = _Lasting()
        self._peaks_kib: dict[Key, int] = {}
        self._fruitless_s = self._longest_s = 0.0
        self._clients: set[str] = set()
        self._turning: str | None = None

    def rest(self, now: Snapshot) -> None:
        """Count ``now`` as progress: others have to move first."""
        self._moved_at = now.at

    def look(
        self,
        now: Snapshot,
        gpus: dict[str, GpuSample],
        *,
        starting: bool = False,
        turning: str | None = None,
    ) -> str | None:
        """Return what is wrong with the run, one sentence; None if it may continue.

        Args:
            now: the run at this moment.
            gpus: the newest sample of the assigned GPUs, by UUID.
            starting: whether a site has yet to show that its trainer has begun.
            turning: which trainer gets the same model over and over: its work is no progress.
        """
        self._turning, limit_s = turning, float(self._silence_s)
        if starting and not turning:
            limit_s = max(limit_s, min(_STARTING * limit_s, _STARTING_S))
        message = self._stuck(now)
        if message is None and now.at - self._last.at >= LOOK_S:
            done = measure_work(self._last, now)
            if self._moves(now, gpus, done):
                self._moved_at = now.at
            self._last = now
            message = self._ended(now, done) or self._lost(now, done) or self._silent(now, gpus, limit_s)
        return message

    def _stuck(self, now: Snapshot) -> str | None:
        """Find processes that are stopped, or wait for the kernel without any CPU time."""
        for process in now.processes:
            key, named = process.key, f"Process {process}"
            seconds = self._lasting.seconds((key, "T"), process.state == "T", now)
            if seconds > STOPPED_S:
                return f"{named} is stopped (SIGSTOP) for {seconds:.0f} s."
            ran = sum(times.ran for times in process.threads.values())
            seconds = self._lasting.seconds((key, "D"), process.state == "D", now, ran)
            if seconds > DISK_SLEEP_S:
                return f"{named} waits for the kernel (D state) for {seconds:.0f} s."
        return None

    def _ended(self, now: Snapshot, done: dict[Key, ProcessWork]) -> str | None:
        """Find idle trainers whose main thread has ended."""
        for process in now.processes:
            pid, did = process.pid, done[process.key]
            ours = process.site is not None and process.node is None
            idle = ours and did.ran < _IDLE_SHARE and not did.works
            seconds = self._lasting.seconds((pid, "ended"), idle and self._has_ended(pid), now)
            if seconds > self._ending_s:
                return (
                    f"The main thread of process {process} ended {seconds:.0f} s ago "
                    "and another thread keeps the process alive."
                )
        return None

    def _lost(self, now: Snapshot, done: dict[Key, ProcessWork]) -> str | None:
        """Find NVFlare's clients that have ended while its server idles."""
        members = {process.nvflare for process in now.processes}
        servers = [process.key for process in now.processes if process.nvflare == SERVER]
        server_idles = any(not done[key].works for key in servers)
        self._clients |= {site.name for site in self._sites if site.name in members}
        for site in sorted(self._clients):
            seconds = self._lasting.seconds((site, "lost"), server_idles and site not in members, now)
            if seconds > self._ending_s:
                return f"NVFlare's client of {site} ended {seconds:.0f} s ago and the job goes on without it."
        return None

    def _silent(self, now: Snapshot, gpus: dict[str, GpuSample], limit_s: float) -> str | None:
        if now.at - self._moved_at <= limit_s:
            return None
        if self._turning:
            return (
                f"{self._turning} over and over, sends no result, and logs nothing new for {limit_s:.0f} s."
            )
        last = f"no activity of the {'GPUs' if gpus else 'processes'}"
        if self._fruitless_s > self._patience_s:
            last = f"and nothing came of {self._fruitless_s:.0f} s of CPU time"
        return f"Nothing has moved for {limit_s:.0f} s: no log line, no evidence, {last}."

    @property
    def _patience_s(self) -> float:
        return max(_FRUITLESS * self._silence_s, _LONGER * self._longest_s)

    def _moves(self, now: Snapshot, gpus: dict[str, GpuSample], done: dict[Key, ProcessWork]) -> bool:
        """Whether a file or process grew, a GPU computed, or (as long as no rank is on a GPU) the CPU worked.

        A rank that waits in a collective keeps its GPU at 100 % and its memory idle, and a core busy: neither
        counts. (H200, NCCL 2.28: utilisation 100 and 0, where training has either memory in use or pauses.)
        On a CPU, work without a result counts until it exceeds the run's patience.
        """
        grew = now.said != self._last.said or self._loads(now.processes)
        if self._turning:
            return grew
        on_gpu = any(gpu.processes for gpu in gpus.values())
        if grew or on_gpu:
            self._longest_s = max(self._longest_s, self._fruitless_s)
            self._fruitless_s = 0.0
            looks = gpus.values()
            return grew or any(gpu.memory_utilisation or 0 < (gpu.utilisation or 0) < 100 for gpu in looks)
        did = done.values()
        self._fruitless_s += max((process.longest_s for process in did), default=0.0)
        together = sum(process.ran for process in did) > _WORKING_SHARE
        works = together or any(process.works for process in did)
        return works and self._fruitless_s <= self._patience_s

    def _loads(self, processes: tuple[Process, ...]) -> bool:
        peaks = self._peaks_kib
        grew = any(process.memory_kib > peaks.get(process.key, 0) + _LOADED_KIB for process in processes)
        peaks |= {process.key: max(process.memory_kib, peaks.get(process.key, 0)) for process in processes}
        return grew
