"""A run's folder as the claims see it: read once, never written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from rekindle.flare.log import Entry, LogRecord, read_records, server_ledger, site_ledger
from rekindle.flare.workspace import ALL_LOGS, LOG, LogLine, Member, Workspace, of_run
from rekindle.host import files
from rekindle.records import Ended, Evidence, Ladder, LeftBehind, RecordError, Rung, RunSpec, moment, read
from rekindle.records.base import shortened
from rekindle.records.events import AnyEvent, DeviceEvent, Event, FinalEvent, RoundEvent, SampleEvent
from rekindle.records.evidence import Line, read_evidence

EventT = TypeVar("EventT", bound=Event)
_ZONE_S = 900
"""Time zones differ by multiples of a quarter of an hour."""
_PROOF = ("evidence/*.jsonl", "samples.jsonl", "evidence/", ALL_LOGS, "job.log")
"""What verdicts are read from."""


@dataclass(frozen=True)
class Run:
    """The files of one run of one job."""

    folder: Path
    spec: RunSpec
    ended: Ended | None
    lines: list[Line[AnyEvent]]
    workspace: Workspace
    unread: tuple[str, ...] = ()
    """What is there and was not read, one sentence each."""
    broken: tuple[tuple[str, int], ...] = ()
    """File and number of each line of evidence that is no event."""

    @classmethod
    def open(cls, folder: Path, spec: RunSpec | None = None) -> Run:
        """Read a run's folder, and its spec.json unless there is a ``spec`` that counts instead.

        Raises:
            RecordError: it is none, or a record in it is broken.
        """
        spec = spec or read(folder / "spec.json", RunSpec)
        ended = read(folder / "ended.json", Ended) if (folder / "ended.json").exists() else None
        if not spec.sites:
            raise RecordError(f"{folder / 'spec.json'} names no site.", "have its stage write it again.")
        workspace, told = of_run(folder), read_evidence(folder)
        unread = (*told.unread, *workspace.unread(), *_left_behind(folder))
        return cls(folder, spec, ended, told.lines, workspace, unread, tuple(told.broken))

    def of(self, kind: type[EventT]) -> list[Line[EventT]]:
        """Lines of one kind of event."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[type[Event], list[Line[Any]]]:
        found: dict[type[Event], list[Line[Any]]] = {}
        for one in self.lines:
            found.setdefault(type(one.event), []).append(one)
        return found

    def rounds(self, site: str, rank: int) -> list[Line[RoundEvent]]:
        """Return the rounds of one rank, in order."""
        return self._rounds.get((site, rank), [])

    @cached_property
    def _rounds(self) -> dict[tuple[str, int], list[Line[RoundEvent]]]:
        found: dict[tuple[str, int], list[Line[RoundEvent]]] = {}
        for one in sorted(self.of(RoundEvent), key=lambda one: one.event.round):
            found.setdefault((one.event.site, one.event.rank), []).append(one)
        return found

    @cached_property
    def samples(self) -> list[Line[SampleEvent]]:
        """GPU samples that the driver took, in the order of their times."""
        return sorted(self.of(SampleEvent), key=lambda one: one.event.time)

    @cached_property
    def host_memory_mib(self) -> dict[str, int]:
        """Peak of each of NVFlare's processes, by name."""
        peaks: dict[str, int] = {}
        for name, mib in (pair for one in self.samples for pair in one.event.memory_mib.items()):
            peaks[name] = max(mib, peaks.get(name, 0))
        return peaks

    @cached_property
    def rungs(self) -> tuple[Rung, ...]:
        """The blame ladder, if the driver climbed it."""
        path = self.folder / "ladder.json"
        return read(path, Ladder).rungs if path.exists() else ()

    @cached_property
    def final(self) -> Line[FinalEvent] | None:
        """What job.py said of the final global model."""
        return next(iter(self.of(FinalEvent)), None)

    @property
    def version(self) -> int:
        """Of the spec: what evidence the run leaves."""
        return int(self.spec.schema.rpartition("/")[2])

    @property
    def lossy(self) -> bool:
        """Whether messages are quantised, so that a site has nearly, and not exactly, what the server has."""
        return any(claim.options.get("lossy") for claim in self.spec.job.proof)

    @cached_property
    def processes(self) -> dict[tuple[str, int], int]:
        """PID of each rank that told its device, by site and rank."""
        return {(one.event.site, one.event.rank): one.event.pid for one in self.of(DeviceEvent)}

    @cached_property
    def started(self) -> float | None:
        """Seconds since the epoch; None if the run has no record of its end, or that none of a time."""
        try:
            return moment(self.ended.started if self.ended else "").timestamp()
        except ValueError:
            return None

    def zone(self, name: str) -> float:
        """Return the seconds that the time in the log of ``name`` is ahead of UTC.

        NVFlare logs in local time. The run's start tells the zone: a log begins within minutes of it.
        """
        first = next(iter(self.records(name)), None)
        if first is None or self.started is None:
            return 0.0
        return round((first.time - self.started) / _ZONE_S) * _ZONE_S

    def records(self, name: str, log: str = LOG) -> list[LogRecord]:
        """Return the records of a log of ``name`` (``server``, ``site-1``)."""
        if (name, log) not in self._records:
            self._records[name, log] = read_records(self.workspace, name, log)
        return self._records[name, log]

    @cached_property
    def _records(self) -> dict[tuple[str, str], list[LogRecord]]:
        return {}

    @cached_property
    def ledger(self) -> list[Entry]:
        """What the server's log says of rounds, tasks and results, in its order."""
        return server_ledger(self.records("server"))

    def site_ledger(self, name: str) -> list[Entry]:
        """Return what a site's log says of its tasks, in its order."""
        if name not in self._site_ledgers:
            self._site_ledgers[name] = site_ledger(self.records(name))
        return self._site_ledgers[name]

    @cached_property
    def _site_ledgers(self) -> dict[str, list[Entry]]:
        return {}

    @cached_property
    def job_log(self) -> list[str]:
        """The lines that job.py printed, the last 16 MiB of them."""
        try:
            return files.end(self.folder / "job.log", 1 << 24).decode("utf-8", "replace").split("\n")
        except OSError:
            return []

    @property
    def last_words(self) -> str:
        """The last line that job.py printed."""
        lines = (shortened(line.strip(), 500) for line in reversed(self.job_log) if line.strip())
        return next(lines, "it printed nothing.")

    @property
    def server(self) -> Member | None:
        """NVFlare's server, if it left files."""
        return self.workspace.members.get("server")

    @cached_property
    def aggregations(self) -> list[LogLine]:
        """Server log lines ``Aggregated N/N results``: groups 1 and 2 are the counts."""
        return self.find("server", r"Aggregated (\d+)/(\d+) results")

    def find(self, name: str, pattern: str) -> list[LogLine]:
        """Return the lines of ``name``'s log (``server``, ``site-1``) that match ``pattern``."""
        return self.workspace.find(name, pattern)

    def evidence(
        self, claim: str, holds: bool | None, says: str, at: Line[Any] | LogLine | Path | str | None = None
    ) -> Evidence:
        """Make the evidence for ``claim``; ``at`` is where it stands (a path or text: a whole file)."""
        return self.workspace.evidence(claim, holds, says, at)


def _left_behind(folder: Path) -> Iterator[str]:
    """Say what of a run that came home stayed on its host although verdicts are read from it."""
    path = folder / "left.json"
    left = read(path, LeftBehind) if path.exists() else LeftBehind(files={})
    for name, why in left.files.items():
        if any(fnmatch(name, pattern) for pattern in _PROOF):
            yield f"{name} stayed on the host: {why}."
