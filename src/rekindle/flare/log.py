# SPDX-License-Identifier: Apache-2.0
"""NVFlare's logs as records."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from rekindle.records import convert_epoch

from .workspace import LOG, LogLine, Workspace

TRAINERS = ("SubprocessLauncher", "ExternalProcessBackend", "TaskScriptRunner")
"""The loggers under which a client repeats what its trainers print: launched ones, those since NVFlare 2.9,
and scripts that train inside the client."""
_STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
PREFIX = rf"{_STAMP} - (?:[\w.]{{1,80}} - )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
"""Regular expression of the text before a message; a console's may lack the logger."""
OF_TORCH = r"(?:\[rank\d{1,6}\]: ?)?(?:[CDEIVW]\d{4} [\d:.]{8,20} \d{1,10} \S{1,300}\.py:\d{1,6}\] ?)?"
"""Regular expression of what torch has before each line of an exception: its rank, its log's prefix."""
_RECORD = re.compile(rf"({_STAMP}) - ([\w.]{{1,200}}) - ([A-Z]{{1,10}}) - (?:(\[identity=[^\]]*\]) - )?(.*)")
COMPLETED = re.compile(r"\bFinished \w{1,40}(?: Training)?\.|FINISHED:COMPLETED")
"""What a server logs as a workflow, or a job, comes to a good end."""
WENT_ON = re.compile(rf"{COMPLETED.pattern}|\bSuccessfully registered client|get result: \(scheduled\)")
"""What NVFlare's server and clients log only where all is well again, or came to its end."""
ENDED = re.compile(r"\bEND_RUN fired|End the Simulator run")
"""What each of them logs last of a run, whatever became of it."""
TO_END = re.compile(r"(?:server asked to end the run|received request from Server to end current RUN)$")
"""What a site logs before it ends its run, and the trainer that it launched."""
STOPS = re.compile(r"_stop_external_process: terminating pid=\d{1,10}$")
"""What a client logs last where it waits for the output of a trainer that it has ended."""
GIVEN = re.compile(r"\bgot task assignment: name=([^,\s]{1,200})")
ABORTS = re.compile(r"\bask to abort job: ")
"""What a client logs where its script ends early, by itself or with the run: its result is none."""
FINISHED = re.compile(r"\bfinished processing task$", re.MULTILINE)
RETURNED = re.compile(r"\btask result sent to server")
"""What a client logs of a task: that it was given, that nothing raised in it, and that its result is sent."""
_BEGINNING = 1 << 14
_FULL = "log.json"
"""The same messages with the full names of their loggers; NVFlare names its own by modules and classes."""
_NVFLARES = ("nvflare.", "__main__.")
"""How those begin; the main module of NVFlare's client has classes."""


@dataclass(slots=True)
class LogRecord:
    """One message of NVFlare's: its first line and those without a time stamp that follow it."""

    file: str
    line: int
    match: re.Match[str]
    time: float
    """Seconds since the epoch, if the log's zone were UTC."""
    logger: str
    level: str
    context: str
    """The record's subject, ``[identity=…, peer=…, peer_rc=OK]``; empty for most."""
    message: str
    more: list[str] = field(default_factory=list)

    @property
    def at(self) -> LogLine:
        """Its place in the log."""
        return LogLine(self.match, self.file, self.line)


def is_nvflare_log(text: str) -> bool:
    """Return whether NVFlare wrote a text: whether one of its first lines is a record."""
    return bool(_RECORD.search(text[:_BEGINNING]))


def read_records(run: Workspace, name: str, log: str = LOG) -> list[LogRecord]:
    """Return the records of a log of ``name`` (``server``, ``site-1``); nothing if there is none."""
    member = run.members.get(name)
    lines = member.lines(log) if member else None
    found: list[LogRecord] = []
    if member is None or lines is None:
        return found
    file = member.path(log).relative_to(run.folder).as_posix()
    for number, line in enumerate(lines, 1):
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


def find_own_loggers(run: Workspace, name: str) -> set[tuple[str, str]]:
    """Return when a logger that is not NVFlare's logged in ``name``: time stamp, and its name in the log."""
    member = run.members.get(name)
    own, nvflares = set[tuple[str, str]](), set[tuple[str, str]]()
    for line in (member.lines(_FULL) if member else None) or ():
        with suppress(ValueError, RecursionError, TypeError, KeyError):
            entry = json.loads(line)
            full, seen = str(entry["fullName"]), (str(entry["asctime"]), str(entry["name"]))
            (nvflares if full.startswith(_NVFLARES) else own).add(seen)
    return own - nvflares


def _seconds(stamp: str) -> float | None:
    try:
        return convert_epoch(
            datetime.fromisoformat(f"{stamp[:19]}.{stamp[20:]}+00:00").timestamp()
        ).timestamp()
    except ValueError:
        return None
