# SPDX-License-Identifier: Apache-2.0
"""A run's progress: its round, its loss, and an estimate of the time that its training still takes."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rekindle.flare.workspace import SERVER
from rekindle.host import background, files, folders
from rekindle.records import RecordError, RunSpec
from rekindle.records.events import (
    AnyEvent,
    DeviceEvent,
    RoundEvent,
    TaskEvent,
    UseEvent,
    decode_event,
)

from .results import RoundResults
from .snapshot import Process


class Reporter:
    """Writes a run's progress.json; reads each line of the trainers' evidence once."""

    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        """Report on the run of ``spec`` in ``run_dir``."""
        self._run_dir, self._path, self._job = run_dir, run_dir / folders.PROGRESS, spec.job
        self._tails: dict[Path, files.Tail] = {}
        self._began: float | None = None
        self._rounds: dict[int, float] = {}
        self._last: RoundEvent | None = None
        self._count = 0
        self.results = RoundResults(spec.job.rounds, spec.silence_s)
        """When each result came."""
        self._turning: dict[str, str] = {}
        self._sites: set[str] = set()
        self._result: TaskEvent | None = None

    @property
    def is_starting(self) -> bool:
        """Whether no rank has reported its device, and the server has yet to get a site's first result."""
        return self._began is None and len(self._sites) < self._job.sites

    @property
    def turning(self) -> str | None:
        """A site whose trainer gets one model over and over, and the line of its code."""
        found = (f"{site} gets the same model at {place}" for site, place in self._turning.items())
        return next(found, None)

    def report(self, elapsed_s: float, message: str | None = None, now: Iterable[Process] = ()) -> None:
        """Write ``message``, how far the trainers are, or what the processes that run ``now`` begin."""
        self._read_events(elapsed_s)
        text = message or self._done() or self._beginning([*now])
        background.write_progress(self._path, "running", text, elapsed_s)

    def end(self, elapsed_s: float, why: str | None = None) -> None:
        """Write that the run has ended, and how far it came, or else why if that is known."""
        self._read_events(elapsed_s)
        done = self._done()
        text = f"ended after {done}" if done else why or "ended"
        background.write_progress(self._path, "ended", text, elapsed_s)

    def _read_events(self, elapsed_s: float) -> None:
        for path in files.find_files(self._run_dir, folders.EVENTS):
            for line in self._tails.setdefault(path, files.Tail(path)).lines():
                with suppress(RecordError):
                    self._take(decode_event(line), elapsed_s)

    def _take(self, event: AnyEvent, elapsed_s: float) -> None:
        if isinstance(event, DeviceEvent) and self._began is None:
            self._began = event.time
        if isinstance(event, TaskEvent):
            self._count += 1
            self.results.take(event, elapsed_s)
            self._result = event
            self._sites.add(event.site)
        if isinstance(event, UseEvent) and event.by == "turns":
            self._turning.pop(event.site, None)
            if not event.right:
                self._turning[event.site] = event.place
        if isinstance(event, RoundEvent):
            self._rounds.setdefault(event.round, event.time)
            if self._last is None or event.time > self._last.time:
                self._last = event

    def _done(self) -> str:
        """Return such as ``round 2/3, loss 0.0585, about 6 s left``; nothing before the first round."""
        last = self._last
        if last is None:
            return self._of_server()
        parts = [f"round {last.round + 1}/{self._job.rounds}"]
        if last.losses and last.losses[-1] is not None:
            parts.append(f"loss {last.losses[-1]:.4f}")
        left = self._job.rounds - 1 - last.round
        if left > 0 and (pace := self._pace()) is not None:
            parts.append(f"about {left * pace:.0f} s left")
        return ", ".join(parts)

    def _beginning(self, now: list[Process]) -> str:
        """Return what goes on before the first round, by the evidence and the processes that there are."""
        if self._began is not None:
            return "starting: the trainers have their devices, and compute their first batch"
        clients = {process.pid: process.nvflare for process in now if process.nvflare not in {None, SERVER}}
        others = [process for process in now if process.nvflare is None]
        trainers = {of.site or clients.get(of.parent) for of in others} - {None}
        if trainers:
            return f"starting: trainers of {len(trainers)} of {self._job.sites} sites import and read data"
        if sites := len({*clients.values()}):
            return f"starting: {sites} of {self._job.sites} sites have joined NVFlare's server"
        if len(others) < len(now):
            return "starting: NVFlare's server is up"
        newest = max(others, key=lambda process: process.born, default=None)
        return f"starting: {newest.title} runs" if newest else "starting"

    def _of_server(self) -> str:
        """Return such as ``round 2/3, 3 results``, of an example whose trainers record nothing."""
        if self._result is None:
            return ""
        number = self._result.round
        of = "" if "rounds" in self._job.assumed else f"/{self._job.rounds}"
        counted = number is not None and (not of or number < self._job.rounds)
        parts = [f"round {number + 1}{of}"] if number is not None and counted else []
        return ", ".join([*parts, f"{self._count} results"])

    def _pace(self) -> float | None:
        """Return the seconds of a round: between rounds, or of the first while it is alone."""
        first, last = min(self._rounds), max(self._rounds)
        if first < last:
            return (self._rounds[last] - self._rounds[first]) / (last - first)
        return None if self._began is None else self._rounds[first] - self._began
