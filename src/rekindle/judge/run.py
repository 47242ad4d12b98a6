# SPDX-License-Identifier: Apache-2.0
"""A run's folder as the checks see it: read once, never written."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from rekindle.flare.log import LogRecord, read_records
from rekindle.flare.tasks import Account
from rekindle.flare.workspace import LOG, SERVER, LogLine, Member, Workspace, of_run
from rekindle.host import files, folders
from rekindle.records import Clock, Ended, RecordError, Rung, RunSpec, Site, events, moment
from rekindle.records.evidence import Line, read_evidence
from rekindle.records.folders import clock_in, ended_in, ladder_in, left_in, spec_in
from rekindle.records.text import clean, shortened

from . import clocks
from .left import left_behind
from .sites import as_announced, gone_sites, without
from .trained import find_converged, in_order, of_training

EventT = TypeVar("EventT", bound=events.Event)
_JOB_LOG = 1 << 24
"""Bytes of job.log, at its end, that are read."""
Kind = Literal["federated", "acceptance", "foreign"]
"""A job that NVFlare runs; one that measures its host; a run that Rekindle did not start."""


@dataclass(frozen=True)
class Run:
    """The files of one run of one job."""

    folder: Path
    spec: RunSpec
    ended: Ended | None
    lines: list[Line[events.AnyEvent]]
    workspace: Workspace
    unread: tuple[str, ...] = ()
    broken: tuple[tuple[str, int], ...] = ()
    """File and number of each line of evidence that is not an event."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Why, by its name, each file stayed on the host."""
    foreign: bool = False
    gone: Mapping[str, int] = field(default_factory=dict)
    """Sites that left a federation, with the round; not in ``spec`` where it may go on without them."""
    all_sites: tuple[Site, ...] = ()
    """Those of ``spec`` and those that it went on without."""
    _records: dict[tuple[str, str], list[LogRecord]] = field(default_factory=dict, init=False)

    @classmethod
    def open(cls, folder: Path, spec: RunSpec | None = None) -> "Run":
        """Read a run's folder, and its spec.json unless there is a ``spec`` that counts instead.

        Raises:
            RecordError: it is not a run's folder, or a record in it is broken.
        """
        spec = spec or spec_in(folder)
        ended = ended_in(folder) if (folder / folders.ENDED).exists() else None
        if not spec.sites:
            raise RecordError(f"{folder / folders.SPEC} names no site.", "have its stage write it again.")
        if spec.job.federated and spec.job.example is None:
            raise RecordError(f"{folder} is a run of an earlier version of Rekindle.", "run the job again.")
        workspace, evidence = of_run(folder)[0], read_evidence(folder)
        left = left_in(folder).files if (folder / folders.LEFT).exists() else {}
        unread = (*evidence.unread, *workspace.unread(), *left_behind(left))
        spec = as_announced(spec, workspace)
        lines = clocks.by_controller(evidence.lines, folder, spec)
        workspace = replace(workspace, configurations=_configurations(lines, folders.SERVER_EVENTS))
        broken, named = tuple(evidence.broken), spec.sites
        run = cls(folder, spec, ended, lines, workspace, unread, broken, left, all_sites=named)
        gone = gone_sites(spec, workspace, run.job_log) if spec.federated else {}
        return replace(run, spec=without(spec, gone), gone=gone)

    def simulations(self) -> list["Run"]:
        """Return the run once for each simulation that its job.py started, with the evidence of that one."""
        workspaces = of_run(self.folder)
        if len(workspaces) < 2:
            return [self]
        own, written = [folders.server_events(w.job) for w in workspaces], {line.file for line in self.lines}
        files = [file if file in written else folders.SERVER_EVENTS for file in own]
        servers = {*own, folders.SERVER_EVENTS}
        return [
            replace(
                self,
                spec=as_announced(self.spec, workspace),
                lines=[line for line in self.lines if folders.recorder(line.file)[1] not in servers - {file}],
                workspace=replace(workspace, configurations=_configurations(self.lines, file)),
                unread=(*self.unread, *workspace.unread()),
            )
            for workspace, file in zip(workspaces, files, strict=True)
        ]

    def of(self, kind: type[EventT]) -> list[Line[EventT]]:
        """Lines of one kind of event."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[type[events.Event], list[Line[Any]]]:
        by_kind: dict[type[events.Event], list[Line[Any]]] = {}
        for line in self.lines:
            by_kind.setdefault(type(line.event), []).append(line)
        return by_kind

    @cached_property
    def members(self) -> list[str]:
        """``server`` and the names of the sites, as their logs are found by."""
        return ["server", *(site.name for site in self.spec.sites)]

    @cached_property
    def lost(self) -> Mapping[str, int]:
        """Sites that the run went on without, with the round in which they left."""
        return self.gone if len(self.spec.sites) < len(self.all_sites) else {}

    @cached_property
    def ranks(self) -> list[tuple[str, int]]:
        """Every rank that was asked for: its site's name and its number there."""
        return [(site.name, rank) for site in self.spec.sites for rank in range(site.ranks)]

    def rounds(self, site: str, rank: int) -> list[Line[events.RoundEvent]]:
        """Return the rounds of one rank, in order."""
        return self._rounds.get((site, rank), [])

    @cached_property
    def _rounds(self) -> dict[tuple[str, int], list[Line[events.RoundEvent]]]:
        by_rank: dict[tuple[str, int], list[Line[events.RoundEvent]]] = {}
        for line in sorted(self.of(events.RoundEvent), key=lambda line: line.event.round):
            by_rank.setdefault((line.event.site, line.event.rank), []).append(line)
        return by_rank

    def suspended_s(self, event: events.RoundEvent) -> float:
        """Return for how long SLURM had the run suspended in a rank's round."""
        return self.ended.suspended_s(event, self.spec.member_host(event.site)) if self.ended else 0.0

    @cached_property
    def samples(self) -> list[Line[events.SampleEvent]]:
        """GPU samples that the driver took, in the order of their times."""
        return sorted(self.of(events.SampleEvent), key=lambda line: line.event.time)

    @cached_property
    def nodes(self) -> tuple[str | None, ...]:
        """The nodes of the run; None alone where all is on one machine."""
        return self.spec.nodes or (None,)

    def samples_of(self, node: str | None) -> list[Line[events.SampleEvent]]:
        """Return the samples of one node, in the order of their times."""
        return [line for line in self.samples if line.file == folders.samples(node)]

    def samples_for(self, uuid: str) -> list[Line[events.SampleEvent]]:
        """Return the samples of the node that has this GPU, in the order of their times."""
        return self.samples_of(self._node_with(uuid))

    @cached_property
    def _owners(self) -> dict[str, dict[str, str]]:
        """The server or site of each process of the run, by the file of its node's samples and its PID."""
        owners: dict[str, dict[str, str]] = {}
        for line in self.samples:
            for name, worked in line.event.worked.items():
                owners.setdefault(line.file, {}).update(dict.fromkeys(map(str, worked.pids), name))
        return owners

    def owners_on(self, uuid: str) -> dict[str, str]:
        """Return the server or site of each process on the node of a GPU, by PID as samples list it."""
        return self._owners.get(folders.samples(self._node_with(uuid)), {})

    def _node_with(self, uuid: str) -> str | None:
        return next((node for node in self.nodes if uuid in self.spec.gpus_on(node)), None)

    @cached_property
    def rungs(self) -> tuple[Rung, ...]:
        """The blame ladder, if the driver climbed it."""
        return ladder_in(self.folder).rungs if (self.folder / folders.LADDER_RECORD).exists() else ()

    @cached_property
    def final(self) -> Line[events.FinalEvent] | None:
        """What job.py reported of the final global model."""
        return next(iter(self.of(events.FinalEvent)), None)

    @cached_property
    def kind(self) -> Kind:
        """What wrote the run's evidence."""
        if self.foreign:
            return "foreign"
        if not self.spec.job.federated:
            return "acceptance"
        return "federated"

    def has(self, need: type[events.Event] | type[Ended]) -> bool:
        """Whether a part of the run is there."""
        if issubclass(need, Ended):
            return self.ended is not None
        return bool(self.of(need))

    @cached_property
    def account(self) -> Account:
        """What NVFlare's files show of workflows and their tasks."""
        return Account(self.workspace, self.lost)

    @cached_property
    def results(self) -> list[Line[events.TaskEvent]]:
        """What the server got from sites for their tasks."""
        return self.of(events.TaskEvent)

    @cached_property
    def trained(self) -> list[Line[events.TaskEvent]]:
        """The results of training, without those of rounds in which sites validate, as in NVFlare's SVM."""
        return of_training(self.results, self.workspace)

    @cached_property
    def converged(self) -> frozenset[int]:
        """The last rounds of training in which no site had anything left to learn."""
        return find_converged(self.trained)

    @cached_property
    def models_sent(self) -> list[Line[events.TaskEvent]]:
        """The results of training that have weights, in the order of their rounds.

        Rounds of a further workflow are counted on from those of the workflow before it.
        """
        return in_order([line for line in self.trained if line.event.sketch])

    @cached_property
    def processes(self) -> dict[tuple[str, int], tuple[str | None, int]]:
        """Node and PID of each rank that reported its device, by site and rank; no node on one machine."""
        spread, reported = bool(self.spec.nodes), (line.event for line in self.of(events.DeviceEvent))
        return {(event.site, event.rank): (event.node if spread else None, event.pid) for event in reported}

    @cached_property
    def started(self) -> float | None:
        """Seconds since the epoch; None if the record of the run's end is missing."""
        return moment(self.ended.started).timestamp() if self.ended else None

    @cached_property
    def clock(self) -> Clock | None:
        """The host's clock when the run was collected; None on the host, and where nobody asked."""
        return clock_in(self.folder) if (self.folder / folders.CLOCK).exists() else None

    def zone(self, name: str) -> float:
        """Return the seconds that the times in the log of ``name`` are ahead of UTC."""
        if not self.spec.federated and self._zone is not None:
            return self._zone
        records = self.records(name)
        if not records or self.started is None:
            return 0.0
        host = clocks.of_host(self.folder, self.spec.member_host(name))
        return clocks.ahead_s(records[0].time, self.started, host)

    @cached_property
    def _zone(self) -> float | None:
        return clocks.ahead_by_result_s([line.event for line in self.results], self.records(SERVER))

    @cached_property
    def slack_s(self) -> float:
        """The most by which times of several hosts may contradict each other, as clocks are not exact."""
        return clocks.slack_s(self.folder, self.spec) if self.spec.federated else 0.0

    def records(self, name: str, log: str = LOG) -> list[LogRecord]:
        """Return the records of a log of ``name`` (``server``, ``site-1``)."""
        if (name, log) not in self._records:
            self._records[name, log] = read_records(self.workspace, name, log)
        return self._records[name, log]

    @property
    def models(self) -> dict[str, tuple[Member, str]]:
        """The global models that were saved: their places, by name."""
        return self.workspace.models(*self.account.aggregators)

    @cached_property
    def models_left(self) -> dict[str, str]:
        """Files of the models that were saved and that stayed on the host, by the same names."""
        return self.workspace.models_among(self.left, *self.account.aggregators)

    @cached_property
    def loaded(self) -> dict[str, Line[events.ModelEvent]]:
        """How each model loaded in the run's environment, by its file; the initial one's name is empty."""
        return {line.event.model: line for line in self.of(events.ModelEvent)}

    @cached_property
    def job_log(self) -> list[str]:
        """The lines that job.py printed, the last 16 MiB of them, without colours."""
        try:
            printed = files.end(self.folder / folders.JOB_LOG, _JOB_LOG).decode("utf-8", "replace")
        except OSError:
            return []
        return clean(printed, _JOB_LOG).split("\n")

    @property
    def last_words(self) -> str:
        """The last line that job.py printed."""
        lines = (shortened(line.strip(), 500) for line in reversed(self.job_log) if line.strip())
        return next(lines, "it printed nothing.")

    def find(self, name: str, pattern: str) -> list[LogLine]:
        """Return the lines of ``name``'s log (``server``, ``site-1``) that match ``pattern``."""
        return self.workspace.find(name, pattern)


def _configurations(lines: list[Line[Any]], file: str) -> dict[str, dict[str, Any]]:
    """Return the configurations of the simulation whose server wrote ``file``, by member."""
    mine = (line.event for line in lines if folders.recorder(line.file)[1] == file)
    return {event.member: event.content for event in mine if isinstance(event, events.ConfigurationEvent)}
