# SPDX-License-Identifier: Apache-2.0
"""Clocks of a federation's hosts: what each wrote, by the controller's."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle.flare.log import LogRecord
from rekindle.flare.tasks import CAME
from rekindle.host import folders
from rekindle.records import Clock, RunSpec
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import Line
from rekindle.records.folders import clock_in

NO_OFFSET = Clock(offset_s=0.0, error_s=0.0)
SLACK_S = 0.1
"""Clocks of processes on one host, and the time to write a line."""
_DRIFT_S = 0.1
"""By which a host's clock may be corrected during a run."""
_ZONE_S = 900
"""Time zones differ by multiples of a quarter of an hour."""


def of_host(folder: Path, host: str | None) -> Clock:
    """Return a host's clock when its part of the run in ``folder`` was collected; no offset if unknown.

    Raises:
        RecordError: its record is broken.
    """
    known = host is not None and (folder / host / folders.CLOCK).exists()
    return clock_in(folder / str(host)) if known else NO_OFFSET


def ahead_s(began: float, started: float, host: Clock) -> float:
    """Return the seconds that a log's times are ahead of UTC by the controller's clock.

    NVFlare logs in local time. A log begins within minutes of the run's start, which gives the zone.

    Args:
        began: the log's first time.
        started: seconds since the epoch, of the run.
        host: its host's clock.
    """
    return round((began - host.offset_s - started) / _ZONE_S) * _ZONE_S + host.offset_s


def ahead_by_result_s(results: Iterable[TaskEvent], records: Iterable[LogRecord]) -> float | None:
    """Return the same of one host's logs, by the server's log of its first result; None without one.

    A user's job.py may prepare for long before NVFlare begins its logs.
    """
    first = min(results, key=lambda event: event.time, default=None)
    for record in records if first else ():
        came = CAME.search(record.message)
        if first and came and came.group(1, 2) == (first.site, first.task):
            return ahead_s(record.time, first.time, NO_OFFSET)
    return None


def slack_s(folder: Path, spec: RunSpec) -> float:
    """Return the most by which times of several hosts may contradict each other: no clock is exact."""
    errors = (of_host(folder, node).error_s for node in spec.nodes)
    return 2 * max(errors, default=0.0) + _DRIFT_S


def by_controller(lines: list[Line[Any]], folder: Path, spec: RunSpec) -> list[Line[Any]]:
    """Return lines of evidence with their times by the controller's clock; those of one host as they are."""
    if not spec.federated:
        return lines
    offsets = {node: of_host(folder, node).offset_s for node in spec.nodes}
    ahead = (offsets.get(spec.host_of(line.file) or "", 0.0) for line in lines)
    return [
        Line(replace(line.event, time=line.event.time - seconds), line.file, line.line)
        for line, seconds in zip(lines, ahead, strict=True)
    ]
