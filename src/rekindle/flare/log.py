"""A log of NVFlare's as records, and as the tasks that went from the server to the sites and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from .workspace import LOG, LogLine, Workspace

_STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
PREFIX = rf"{_STAMP} - (?:[\w.]{{1,80}} - )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
"""Regular expression of what stands before a message; on a console also without the logger."""
_RECORD = re.compile(rf"({_STAMP}) - ([\w.]{{1,200}}) - ([A-Z]{{1,10}}) - (?:(\[identity=[^\]]*\]) - )?(.*)")


@dataclass(slots=True)
class LogRecord:
    """What NVFlare logged at once: its first line and those without a time stamp that follow it."""

    file: str
    line: int
    match: re.Match[str]
    time: float
    """Seconds since the epoch, if the log's zone were UTC."""
    logger: str
    level: str
    context: str
    """``[identity=…, peer=…, peer_rc=OK]``, whom the record is about; empty for most."""
    message: str
    more: list[str] = field(default_factory=list)

    @property
    def at(self) -> LogLine:
        """Where it stands."""
        return LogLine(self.match, self.file, self.line)


def read_records(run: Workspace, name: str, log: str = LOG) -> list[LogRecord]:
    """Return the records of a log of ``name`` (``server``, ``site-1``); nothing if there is none."""
    member = run.members.get(name)
    content = member.read(log) if member else None
    found: list[LogRecord] = []
    if member is None or content is None:
        return found
    file = member.path(log).relative_to(run.folder).as_posix()
    for number, line in enumerate(content.decode("utf-8", errors="replace").split("\n"), 1):
        match = _RECORD.match(line)
        if match is None:
            if found:
                found[-1].more.append(line)
            continue
        time = _seconds(match[1])
        if time is not None:
            _, logger, level, context, message = match.groups("")
            found.append(LogRecord(file, number, match, time, logger, level, context, message))
    return found


def _seconds(stamp: str) -> float | None:
    try:
        return datetime.fromisoformat(f"{stamp[:19]}.{stamp[20:]}+00:00").timestamp()
    except ValueError:
        return None


@dataclass(frozen=True)
class Entry:
    """One step of a federated job, as the server or a site logged it."""

    kind: str
    record: LogRecord
    site: str = ""
    task: str = ""
    """The task's id."""
    number: int = -1
    """The round, or how many results had been aggregated."""
    of: int = -1
    """How many results there should be."""
    sites: tuple[str, ...] = ()
    """Who was sampled."""


_SERVER = {
    "began": r"Start FedAvg\.",
    "sampled": r"Sampled clients: \[(?P<sites>.{0,10000})\]$",
    "persisted": r"End persist model on server\.$",
    "aborted": r"asked to abort",
    "round": r"Round (?P<number>\d{1,9}) started\.",
    "assigned": r"assigned task to client (?P<site>\S{1,200}): name=train, id=(?P<task>\S{1,200})$",
    "result": r"got result from client (?P<site>\S{1,200}) for task: name=train, id=(?P<task>\S{1,200})$",
    "aggregated": r"Aggregated (?P<number>\d{1,9})/(?P<of>\d{1,9}) results",
    "finished": r"Finished FedAvg\.",
    "ended": r"Server runner finished\.",
}
_SITE = {
    "joined": r"Initialize ClientRunner for client: (?P<site>\S{1,200})$",
    "assigned": r"got task assignment: name=train, id=(?P<task>\S{1,200})$",
    "result": r"task result sent to server$",
    "ended": r"(?:server asked to end the run|received request from Server to end current RUN)$",
}
_TOLD_BY_SERVER = {kind: re.compile(text) for kind, text in _SERVER.items()}
_TOLD_BY_SITE = {kind: re.compile(text) for kind, text in _SITE.items()}


def server_ledger(found: list[LogRecord]) -> list[Entry]:
    """Return the steps in the server's records, in their order."""
    return list(_entries(found, _TOLD_BY_SERVER, {"FedAvg", "ServerRunner"}))


def site_ledger(found: list[LogRecord]) -> list[Entry]:
    """Return the steps in a site's records, in their order."""
    return list(_entries(found, _TOLD_BY_SITE, {"ClientRunner", "ClientTaskWorker"}))


def _entries(found: list[LogRecord], told: dict[str, re.Pattern[str]], loggers: set[str]) -> Iterator[Entry]:
    for record in found:
        if record.logger not in loggers:
            continue
        for line in (record.message, *record.more):
            for kind, pattern in told.items():
                match = pattern.search(line)
                if match:
                    values = match.groupdict()
                    yield Entry(
                        kind,
                        record,
                        values.get("site") or "",
                        values.get("task") or "",
                        int(values.get("number") or -1),
                        int(values.get("of") or -1),
                        tuple(re.findall(r"'([^']*)'", values.get("sites") or "")),
                    )
