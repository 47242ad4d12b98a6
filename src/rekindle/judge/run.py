# SPDX-License-Identifier: Apache-2.0
"""A run's folder as the checks see it: read once, never written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from rekindle.flare.tasks import Account
from rekindle.flare.workspace import Workspace
from rekindle.host import folders
from rekindle.records import RunEnd, Rung, RunSpec, events, parse_time
from rekindle.records.evidence import EvidenceLine
from rekindle.records.layout import ladder_in

from .clocks import Clocks
from .logs import Logs
from .observations import Samples
from .ranks import Ranks
from .saved_models import SavedModels
from .sites import RunSites
from .tasks import Training

EventT = TypeVar("EventT", bound=events.Event)
Kind = Literal["federated", "acceptance", "foreign"]
"""A job that NVFlare runs; one that measures its host; a run that Rekindle did not start."""


@dataclass(frozen=True)
class Run:
    """The files of one run of one job; `rekindle.judge.opener` opens it.

    What they show of one subject is a part with a name.
    """

    folder: Path
    spec: RunSpec
    kind: Kind
    ended: RunEnd | None
    lines: list[EvidenceLine[events.AnyEvent]]
    workspace: Workspace
    sites: RunSites
    unread: tuple[str, ...] = ()
    """What of the run was not read, a sentence for each file."""
    broken: tuple[tuple[str, int], ...] = ()
    """File and number of each line of evidence that is not an event."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Why, by its name, each file stayed on the host."""

    def find(self, kind: type[EventT]) -> list[EvidenceLine[EventT]]:
        """Lines of one kind of event."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[type[events.Event], list[EvidenceLine[Any]]]:
        by_kind: dict[type[events.Event], list[EvidenceLine[Any]]] = {}
        for line in self.lines:
            by_kind.setdefault(type(line.event), []).append(line)
        return by_kind

    def has_evidence(self, need: type[events.Event] | type[RunEnd]) -> bool:
        """Whether a part of the run is there."""
        if issubclass(need, RunEnd):
            return self.ended is not None
        return bool(self.find(need))

    @cached_property
    def members(self) -> list[str]:
        """``server`` and the names of the sites, as their logs are found by."""
        return ["server", *(site.name for site in self.spec.sites)]

    @cached_property
    def nodes(self) -> tuple[str | None, ...]:
        """The nodes of the run; None alone where all is on one machine."""
        return self.spec.nodes or (None,)

    @cached_property
    def started(self) -> float | None:
        """Seconds since the epoch; None if the record of the run's end is missing."""
        return parse_time(self.ended.started).timestamp() if self.ended else None

    @cached_property
    def rungs(self) -> tuple[Rung, ...]:
        """The blame ladder, if the driver climbed it."""
        return ladder_in(self.folder).rungs if (self.folder / folders.LADDER_RECORD).exists() else ()

    @cached_property
    def final(self) -> EvidenceLine[events.FinalEvent] | None:
        """What job.py reported of the final global model."""
        return next(iter(self.find(events.FinalEvent)), None)

    @cached_property
    def account(self) -> Account:
        """What NVFlare's files show of workflows and their tasks."""
        return Account(self.workspace, self.sites.lost)

    @cached_property
    def results(self) -> list[EvidenceLine[events.TaskEvent]]:
        """What the server got from sites for their tasks."""
        return self.find(events.TaskEvent)

    @cached_property
    def misuses(self) -> list[EvidenceLine[events.UseEvent]]:
        """The last note of each line of the job's code that got or sent models, where it was not right."""
        notes = self.find(events.UseEvent)
        last = {(note.event.site, note.event.place, note.event.by): note for note in notes}
        return [note for note in last.values() if not note.event.right]

    @cached_property
    def training(self) -> Training:
        """Which of the results are of training."""
        return Training(self.results, self.workspace)

    @cached_property
    def ranks(self) -> Ranks:
        """What ranks recorded."""
        return Ranks(self.spec, self.ended, self.find(events.RoundEvent), self.find(events.DeviceEvent))

    @cached_property
    def samples(self) -> Samples:
        """What the driver sampled of GPUs and processes."""
        return Samples(self.find(events.SampleEvent), self.spec)

    @cached_property
    def saved(self) -> SavedModels:
        """The global models that were saved."""
        return SavedModels(self.workspace, self.account.aggregators, self.left, self.find(events.ModelEvent))

    @cached_property
    def logs(self) -> Logs:
        """What NVFlare and job.py logged."""
        return Logs(self.folder, self.workspace)

    @cached_property
    def clocks(self) -> Clocks:
        """Whose times are ahead of whose."""
        return Clocks(self.folder, self.spec, self.started, self.results, self.logs)
