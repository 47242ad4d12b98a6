"""A run's folder as the claims see it: read once, never written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from rekindle.evidence import Line, read_lines
from rekindle.records import Ended, Evidence, Ladder, RecordError, Rung, RunSpec, read
from rekindle.records.base import shortened
from rekindle.records.events import AnyEvent, Event, FinalEvent, RoundEvent, SampleEvent

from .workspace import LogLine, Member, Workspace, simulated

EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True)
class Run:
    """The files of one run of one job."""

    folder: Path
    spec: RunSpec
    ended: Ended | None
    lines: list[Line[AnyEvent]]
    workspace: Workspace

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Read a run's folder.

        Raises:
            RecordError: it is none, or a record in it is broken.
        """
        spec = read(folder / "spec.json", RunSpec)
        ended = read(folder / "ended.json", Ended) if (folder / "ended.json").exists() else None
        if not spec.sites:
            raise RecordError(f"{folder / 'spec.json'} names no site. Fix: have its stage write it again.")
        folders = sorted((folder / "job" / "workspace").glob("*/server"))
        workspace = simulated(folders[0].parent, folder) if folders else None
        return cls(folder, spec, ended, read_lines(folder), workspace or Workspace(folder, {}))

    def of(self, kind: type[EventT]) -> list[Line[EventT]]:
        """Lines of one kind of event."""
        return [Line(one.event, one.file, one.line) for one in self.lines if isinstance(one.event, kind)]

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
        return next(
            (shortened(line.strip(), 500) for line in reversed(lines) if line.strip()), "it printed nothing."
        )

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
