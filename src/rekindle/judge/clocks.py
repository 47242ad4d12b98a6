# SPDX-License-Identifier: Apache-2.0
"""The clocks of a run's hosts: what each wrote, by the controller's."""

from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle.flare.tasks import CAME
from rekindle.flare.workspace import SERVER
from rekindle.host import folders
from rekindle.records import Clock, RunSpec
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import EvidenceLine
from rekindle.records.layout import clock_in

from .logs import Logs

SLACK_S = 0.1
"""Clocks of processes on one host, and the time to write a line."""
_DRIFT_S = 0.1
"""By which a host's clock may be corrected during a run."""
_ZONE_S = 900
"""Time zones differ by multiples of a quarter of an hour."""


def find_host_clock(folder: Path, host: str | None) -> Clock | None:
    """Return a host's clock when its part of the run in ``folder`` was collected; None if unknown.

    Raises:
        RecordError: its record is broken.
    """
    known = host is not None and (folder / host / folders.CLOCK).exists()
    return clock_in(folder / str(host)) if known else None


class Clocks:
    """The clocks of a run's hosts, and the time zones of its logs."""

    def __init__(
        self,
        folder: Path,
        spec: RunSpec,
        started: float | None,
        results: list[EvidenceLine[TaskEvent]],
        logs: Logs,
    ) -> None:
        """Take when the run started, in seconds since the epoch, what the server got, and the logs."""
        self._folder, self._spec, self._started = folder, spec, started
        self._results, self._logs = results, logs

    @cached_property
    def collected(self) -> Clock | None:
        """The host's clock when the run was collected; None on the host, and where nobody asked."""
        return clock_in(self._folder) if (self._folder / folders.CLOCK).exists() else None

    def ahead_s(self, name: str) -> float:
        """Return the seconds that times in the log of ``name`` are ahead of UTC by the controller's clock.

        NVFlare logs in local time. A log begins within minutes of the run's start, which gives the zone.
        """
        if not self._spec.over_hosts and self._by_result_s is not None:
            return self._by_result_s
        records = self._logs.records(name)
        if not records or self._started is None:
            return 0.0
        clock = find_host_clock(self._folder, self._spec.member_host(name))
        return _ahead_s(records[0].time, self._started, clock.offset_s if clock else 0.0)

    @cached_property
    def _by_result_s(self) -> float | None:
        """The same of one host's logs, by the server's log of its first result; None without one.

        A user's job.py may prepare for long before NVFlare begins its logs.
        """
        first = min((line.event for line in self._results), key=lambda event: event.time, default=None)
        for record in self._logs.records(SERVER) if first else ():
            came = CAME.search(record.message)
            if first and came and came.group(1, 2) == (first.site, first.task):
                return _ahead_s(record.time, first.time, 0.0)
        return None

    @cached_property
    def slack_s(self) -> float:
        """The most by which times of several hosts may contradict each other, as clocks are not exact."""
        if not self._spec.over_hosts:
            return 0.0
        clocks = (find_host_clock(self._folder, node) for node in self._spec.nodes)
        return 2 * max((clock.error_s for clock in clocks if clock), default=0.0) + _DRIFT_S


def _ahead_s(logged: float, at: float, offset_s: float) -> float:
    """Return the seconds that a log is ahead, by a time ``logged`` at ``at`` seconds since the epoch.

    Args:
        logged: seconds since the epoch, if the log's local time were UTC.
        at: when that was, by the controller's clock.
        offset_s: of the host's clock from the controller's.
    """
    return round((logged - offset_s - at) / _ZONE_S) * _ZONE_S + offset_s


def shift_to_controller(
    lines: list[EvidenceLine[Any]], folder: Path, spec: RunSpec
) -> list[EvidenceLine[Any]]:
    """Return lines of evidence with their times by the controller's clock; those of one host as they are."""
    if not spec.over_hosts:
        return lines
    clocks = {node: find_host_clock(folder, node) for node in spec.nodes}
    offsets = {node: clock.offset_s for node, clock in clocks.items() if clock}
    ahead = (offsets.get(spec.host_of(line.file) or "", 0.0) for line in lines)
    return [
        EvidenceLine(replace(line.event, time=line.event.time - seconds), line.file, line.line)
        for line, seconds in zip(lines, ahead, strict=True)
    ]
