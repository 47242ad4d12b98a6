"""A run's folder as the claims see it: read once, never written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from rekindle.evidence import Line, read_lines, sha256
from rekindle.records import Ended, Evidence, Ladder, Rung, RunSpec, read
from rekindle.records.events import AnyEvent, Event, FinalEvent, RoundEvent, SampleEvent

EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True)
class LogLine:
    """A line of a log that matters, and the match in it."""

    match: re.Match[str]
    file: str
    line: int


@dataclass(frozen=True)
class Run:
    """The files of one run of one job."""

    folder: Path
    spec: RunSpec
    ended: Ended | None
    lines: list[Line[AnyEvent]]

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Read a run's folder.

        Raises:
            RecordError: it is none, or a record in it is broken.
        """
        spec = read(folder / "spec.json", RunSpec)
        ended = read(folder / "ended.json", Ended) if (folder / "ended.json").exists() else None
        return cls(folder, spec, ended, read_lines(folder))

    def of(self, kind: type[EventT]) -> list[Line[EventT]]:
        """Lines of one kind of event."""
        return [Line(one.event, one.file, one.line) for one in self.lines if isinstance(one.event, kind)]

    def rounds(self, site: str, rank: int) -> list[Line[RoundEvent]]:
        """Return the rounds of one rank, in order."""
        mine = [one for one in self.of(RoundEvent) if (one.event.site, one.event.rank) == (site, rank)]
        return sorted(mine, key=lambda one: one.event.round)

    @cached_property
    def samples(self) -> list[Line[SampleEvent]]:
        """GPU samples that the driver took."""
        return self.of(SampleEvent)

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
    def last_words(self) -> str:
        """The last line that job.py printed."""
        log = self.folder / "job.log"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing.")

    @property
    def server(self) -> Path | None:
        """NVFlare's server folder in the run, if there is one."""
        return next(iter(sorted((self.folder / "job" / "workspace").glob("*/server"))), None)

    @cached_property
    def aggregations(self) -> list[LogLine]:
        """Server log lines ``Aggregated N/N results``: groups 1 and 2 are the counts."""
        return self.find("server", r"Aggregated (\d+)/(\d+) results")

    @cached_property
    def aborts(self) -> list[LogLine]:
        """Server log lines in which NVFlare gives the run up."""
        return self.find("server", r"Aborting current RUN due to (.*)")

    def find(self, name: str, pattern: str) -> list[LogLine]:
        """Return the lines of ``name``'s log (``server``, ``site-1``) that match ``pattern``."""
        log = self.server.with_name(name) / "log.txt" if self.server else None
        if log is None or not log.exists():
            return []
        file = log.relative_to(self.folder).as_posix()
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        found = ((number, re.search(pattern, line)) for number, line in enumerate(lines, 1))
        return [LogLine(match, file, number) for number, match in found if match]

    def evidence(
        self, claim: str, holds: bool | None, says: str, at: Line[Any] | LogLine | str | None = None
    ) -> Evidence:
        """Make the evidence for ``claim``; ``at`` is where it stands (a string: a file of the run)."""
        file = at if at is None or isinstance(at, str) else at.file
        return Evidence(
            claim=claim,
            holds=holds,
            says=says,
            file=file,
            line=None if at is None or isinstance(at, str) else at.line,
            sha256=sha256(self.folder / file) if file else None,
        )
