# SPDX-License-Identifier: Apache-2.0
"""The logs of NVFlare's server and sites, and job.py's output, are without an error."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from rekindle.flare.log import OF_TORCH, RETURNED, TRAINERS, LogRecord, find_own_loggers
from rekindle.flare.losses import is_about_lost
from rekindle.flare.workspace import SERVER, SHOWN
from rekindle.host import folders
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.run import Run
from rekindle.records import allow_decoding, decode_json

from .log_ends import CONSOLE, CONTEXT

_ENDING = ("asked to end the run", "Server to end current RUN", "END_RUN fired")
_BAD_LEVELS = {"ERROR", "CRITICAL", "FATAL"}
_SCRIPTS = ("root", "__main__")
"""Loggers of no class, which NVFlare never uses."""
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\s*$")
RAISED = re.compile(r"^([A-Za-z_][\w.]{0,200}(?:Error|Exception|Exit|Interrupt)\b.*)")
_FRAME = re.compile(rf'\s+File "|{RAISED.pattern[1:]}')
"""Follows that, unless it is quoted in a text."""
_FIGURE = re.compile(r"\w+[\s:=|]+[-+]?\d")
"""A metric that has the name of an error, as ``MeanSquaredError: 0.31``."""
_DIED = re.compile(
    r"^(?:Killed$|Segmentation fault|Bus error|Fatal Python error|Aborted \(core dumped\)"
    r"|\s*exitcode\s*: *-?[1-9]|.{0,200}\bNCCL error\b|Aborting current RUN"
    r"|External process exited with return code -?[1-9])"
)
_LASTING = re.compile(
    _DIED.pattern
    + r"|torch[./]distributed|\bDist\w+Error|[Gg]loo|NCCL"
    + r"|CUDA|CUBLAS|CUDNN|HIP error|device-side assert|out of memory|OutOfMemory|MemoryError"
)
"""Ends of processes, and errors after which what ranks, a GPU or a process compute is not to be trusted."""
_TORCH = re.compile(f"^{OF_TORCH}")


class Harmless(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error that good runs log too, and why."""

    log: Literal["any", "server", "site", "job"]
    logger: str
    """Its full name; any if empty."""
    text: str
    because: str
    after_end: bool = False
    """Only once the server has asked the sites to end."""


_ALL = allow_decoding(tuple[Harmless, ...])


@cache
def load_harmless() -> tuple[Harmless, ...]:
    """Return the list, ``harmless.json``."""
    return decode_json(files(__package__).joinpath("harmless.json").read_bytes(), _ALL)


@register_check(
    "federated",
    "foreign",
    holds="No log or error log of the server or a site has an unexplained error; the server aborted nothing.",
)
def no_error_logged(run: Run) -> Iterator[Result]:
    """What a job's own code logs at a site is reported: what came of it, other checks see."""
    aborts = run.logs.find(SERVER, r"Aborting current RUN due to (.*)")
    for name in run.members:
        who, member = "The server" if name == SERVER else name, run.workspace.members.get(name)
        contents = {log: member.read(log) for log in member.error_logs} if member else {}
        if member is None or not contents or None in contents.values():
            yield unknown(f"{name} left no error log.")
            continue
        found = [*find_unexplained(name, run.logs.records(name), lost=run.sites.lost)]
        for log, content in contents.items():
            errors = run.logs.records(name, log)
            if content and content.strip() and not errors:
                yield unknown(f"{name}'s error log is not NVFlare's.", member.path(log))
            found += find_unexplained(name, errors, ended=True, lost=run.sites.lost)
        own = find_own_loggers(run.workspace, name) if found and name != SERVER else set()
        said = [
            (record, message)
            for record, message in found
            if name != SERVER and (record.logger in _SCRIPTS or (record.match[1], record.logger) in own)
        ]
        found = [each for each in found if each not in said]
        for record, message in sorted(found, key=lambda each: "Aborting current RUN" in each[1]):
            yield fails(f"{who} logged: {read_error(record, message)}", record.at)
        for record, message in said[:1]:
            logged = f"The job's own code at {name} logged {read_error(record, message)!r}"
            yield holds(f"{logged} by its logger {record.logger}. No error of NVFlare's is there.", record.at)
    if aborts:
        yield fails(f"NVFlare aborted the run: {aborts[0].match.group(1)}", aborts[0])


def read_error(record: LogRecord, message: str) -> str:
    """Return the message of an error in a log; of a traceback, its exception."""
    raised = [line for line in record.more if RAISED.match(line)]
    return raised[-1][:300] if raised and message.startswith("Traceback") else message[:300]


def find_unexplained(
    name: str, records: list[LogRecord], ended: bool = False, lost: Collection[str] = ()
) -> Iterator[tuple[LogRecord, str]]:
    """Yield the records of a log with an error that is not harmless, and its message.

    Args:
        name: ``server`` or a site, whose log it is.
        records: of the log, in its order.
        ended: whether the server had asked the sites to end before the first record.
        lost: sites that the run goes on without.
    """
    kind: Literal["server", "site"] = "server" if name == "server" else "site"
    for record in records:
        ended = ended or any(word in record.message for word in _ENDING)
        for message in _errors(record):
            texts = {message, read_error(record, message)}
            known = any(_is_harmless(kind, record.logger, text, ended) for text in texts)
            if not known and not is_about_lost(message, lost):
                yield record, message


def _errors(record: LogRecord) -> Iterator[str]:
    if record.level in _BAD_LEVELS:
        yield record.message
    elif record.logger not in TRAINERS and any(map(_TRACEBACK.search, (record.message, *record.more))):
        yield next((line for line in reversed(record.more) if RAISED.match(line)), record.message)


@register_check(
    "federated", "foreign", holds="Trainers print no unexplained exception and no end of a process."
)
def trainers_print_no_failure(run: Run) -> Iterator[Result]:
    overcome = []
    for name in run.members:
        records = run.logs.records(name)
        last = max((record.time for record in records if RETURNED.search(record.message)), default=0.0)
        for record, message in find_printed_failures(records):
            if record.time < last and not _LASTING.search(message):
                overcome.append((record, f"{name}: {message}"))
            else:
                yield unknown(f"A trainer, as {name} logged it: {message}", record.at)
    if overcome:
        record, message = overcome[0]
        more = f", and {len(overcome) - 1} more" if len(overcome) > 1 else ""
        yield holds(f"Trainers printed exceptions and went on to send results, {message}{more}.", record.at)


def find_printed_failures(records: list[LogRecord]) -> Iterator[tuple[LogRecord, str]]:
    """Yield exceptions and ends of processes that trainers printed."""
    over = headed = False
    begun: list[LogRecord] = []
    for record in records:
        over = over or any(word in record.message for word in _ENDING)
        for line in (record.message, *record.more) if record.logger in TRAINERS else ():
            message = _TORCH.sub("", line)
            if headed and _FRAME.match(message):
                begun.append(record)
            headed = bool(_TRACEBACK.search(message))
            raised = RAISED.match(message) and (begun or not _FIGURE.match(message))
            if raised or _DIED.match(message):
                begun = begun[1:]
                if not _is_harmless("site", record.logger, message, over):
                    yield record, message[:300]
    if begun:
        yield begun[0], "a traceback without its exception"


@register_check(
    "federated", holds="What job.py printed has no error of NVFlare's and no traceback but harmless ones."
)
def job_printed_no_error(run: Run) -> Iterator[Result]:
    """An exception that is printed before the last result of a site, and is not logged, was overcome."""
    if not any(line.strip() for line in run.logs.printed) and (_owes_lines(run) or not run.logs.printed):
        yield unknown("What job.py printed was not kept.")
    records = [record for name in run.members for record in run.logs.records(name)]
    logged = {(record.match[1], record.message) for record in records if record.level in _BAD_LEVELS}
    last = max((record.match[1] for record in records if RETURNED.search(record.message)), default="")
    headed = of_site = None
    consoles = ((number, CONSOLE.match(line)) for number, line in enumerate(run.logs.printed, 1))
    before_last = max((number for number, console in consoles if console and console[1] < last), default=0)
    for number, line in enumerate(run.logs.printed, 1):
        console = CONSOLE.match(line)
        logger, level = (console[2] or "", console[3]) if console else ("", "")
        printed = _TORCH.sub("", line[console.end() :] if console else line)
        result, message = fails, None
        if level in _BAD_LEVELS and console:  # what a log repeats is judged there, by its logger
            message = None if (console[1], CONTEXT.sub("", printed, count=1)) in logged else printed
        if headed is not None and _FRAME.match(printed):
            of_site = headed
        headed = bool(console) if _TRACEBACK.search(printed) else None
        if of_site is not None and RAISED.match(printed):
            result, message = unknown if of_site else fails, printed  # a site's went on
            if not console and number < before_last and not _LASTING.search(printed):
                result = holds
            of_site = None
        elif not console and _DIED.match(printed):
            message = printed
        if message is None or is_about_lost(message, run.sites.lost):
            continue
        if not _is_harmless("job", logger, message, after_end=True):
            then = "Results came after line" if result is holds else "Line"
            yield result(f"{then} {number} of job.log: {message[:300]}", folders.JOB_LOG)


def _owes_lines(run: Run) -> bool:
    """Whether NVFlare's console shows lines of the run: of classes that are all a user's own it has none."""
    server, flows = run.workspace.members.get(SERVER), run.account.flows
    return server is None or SHOWN in server.sizes or not flows or any(flow.flow for flow in flows)


def _is_harmless(kind: str, logger: str, message: str, after_end: bool) -> bool:
    logger = TRAINERS[0] if logger in TRAINERS else _SCRIPTS[0] if logger in _SCRIPTS else logger
    repeated = kind == "job" and not logger  # the console repeats what any of them logs, without its logger
    return any(
        (repeated or (known.log in ("any", kind) and known.logger in ("", logger)))
        and (known.text or not repeated)
        and re.search(known.text, message)
        and (after_end or not known.after_end)
        for known in load_harmless()
    )
