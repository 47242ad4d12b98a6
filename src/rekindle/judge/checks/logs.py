"""That the logs of NVFlare's server and sites, and what job.py printed, are whole and without an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

import msgspec

from rekindle.flare.log import TRAINERS, LogRecord
from rekindle.host import folders
from rekindle.judge.check import Result, check, fails, unknown
from rekindle.judge.run import Run
from rekindle.records import decodable, decode

_FIRST = {
    "server": (
        "Create the Simulator Server.",
        "When running with multi GPU, each GPU group will run with only 1 thread. Set the Threads to 1.",
    ),
    "site": ("ClientTaskWorker started to run",),
}
"""What a log may begin with."""
_LAST = {"server": "MPM: Good Bye!", "site": "End the Simulator run."}
_AFTER_LAST = re.compile(
    r"Clean up ClientRunner for : \S+ ?$|Connection \[.{1,60}\] is closed PID: \d+$"
    r"|\[server\] download tx \S+ done: status=finished elapsed=[\d.]+s size=[\d.]+MB \([\d,]+ bytes\)$"
)
"""What a client may add before NVFlare, which has heard its last word, ends it."""
_ENDING = ("asked to end the run", "Server to end current RUN", "END_RUN fired")
_BAD_LEVELS = {"ERROR", "CRITICAL", "FATAL"}
_CONSOLE = re.compile(
    r"^\d{4}-\d\d-\d\d [\d:,]+ - (?:([\w.]+) - )?(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL) - "
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\s*$")
"""How the first line of one ends; a word before it is whoever prints it."""
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
RAISED = re.compile(r"^([A-Za-z_][\w.]{0,200}(?:Error|Exception|Exit|Interrupt)\b.*)")
_DIED = re.compile(
    r"^(?:Killed$|Segmentation fault|Bus error|Fatal Python error|Aborted \(core dumped\)"
    r"|\s*exitcode\s*: *-?[1-9]|.{0,200}\bNCCL error\b|Aborting current RUN"
    r"|External process exited with return code -?[1-9])"
)
"""How a process says that it, or another, ended; without an exception."""
_RANK = re.compile(r"^\[rank\d{1,6}\]: ?")
"""As torch begins each line of an exception."""
_AFTER_S = 2.0
"""Within which threads of a process that ends may log something more, as Flower's do."""
_ALL_NAN = re.compile(r"\[(?:\s{0,9}-?(?:nan|inf)\b,?){2,9999}\s{0,9}\]")
"""A row of a model's weights, say, as NumPy and torch print it."""
_BACKWARDS_S = 2.0
"""Threads write to one log, each with the time at which it began to."""


class Harmless(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error that good runs log too, and why."""

    log: Literal["any", "server", "site", "job"]
    logger: str
    """Its whole name; any if empty."""
    text: str
    """Regular expression that finds what it says."""
    because: str
    after_end: bool = False
    """Only once the server has asked the sites to end."""


_ALL = decodable(tuple[Harmless, ...])


@cache
def harmless() -> tuple[Harmless, ...]:
    """Return the list, ``harmless.json``."""
    text = files(__package__).joinpath("harmless.json").read_bytes()
    return decode(text, _ALL)


@check("ours", "example")
def logs_are_whole(run: Run) -> Iterator[Result]:
    """The logs of server and sites go from NVFlare's first word to its last, and never back."""
    for name in run.members:
        records, kind = run.records(name), "server" if name == "server" else "site"
        if not records:
            yield unknown(f"{name} left no log.")
            continue
        if any("\0" in line for line in run.workspace.members[name].log or ()):
            yield unknown(f"{name}'s log has zeros in it, as after a loss of power.", records[0].at)
        if records[0].message.strip() not in _FIRST[kind] or records[0].at.line != 1:
            yield unknown(f"{name}'s log does not begin with NVFlare's first word.", records[0].at)
        ends = [record.time for record in records if record.message.strip() == _LAST[kind]]
        last = next(
            (record for record in reversed(records) if not _AFTER_LAST.match(record.message)), records[-1]
        )
        if not ends or last.time > ends[-1] + _AFTER_S:
            yield unknown(f"{name}'s log does not end with NVFlare's last word.", last.at)
        for before, after in pairwise(records):
            if after.time < before.time - _BACKWARDS_S:
                yield unknown(f"The times of {name}'s log go backwards.", after.at)


@check("ours", "example")
def no_error_logged(run: Run) -> Iterator[Result]:
    """No log of the server or of a site, of which each has an error log too, has an unexplained error."""
    for name in run.members:
        member = run.workspace.members.get(name)
        content = member.read(member.error_log) if member else None
        if member is None or content is None:
            yield unknown(f"{name} left no error log.")
            continue
        errors = run.records(name, member.error_log)
        if content.strip() and not errors:
            yield unknown(f"{name}'s error log is not NVFlare's.", member.path(member.error_log))
        found = [*unexplained(name, run.records(name)), *unexplained(name, errors, ended=True)]
        for record, says in found:
            yield fails(f"{name} logged: {says[:300]}", record.at)


def unexplained(name: str, records: list[LogRecord], ended: bool = False) -> Iterator[tuple[LogRecord, str]]:
    """Yield what of a log's records of ``name`` (``server``, ``site-1``) is an error that is not harmless.

    Args:
        name: whose log it is.
        records: of the log, in its order.
        ended: whether the server had asked the sites to end before the first of them.
    """
    kind: Literal["server", "site"] = "server" if name == "server" else "site"
    for record in records:
        ended = ended or any(word in record.message for word in _ENDING)
        for says in _errors(record):
            if not _is_harmless(kind, record.logger, says, ended):
                yield record, says


def _errors(record: LogRecord) -> Iterator[str]:
    if record.level in _BAD_LEVELS:
        yield record.message
    elif record.logger not in TRAINERS and any(map(_TRACEBACK.search, (record.message, *record.more))):
        yield next((line for line in reversed(record.more) if RAISED.match(line)), record.message)


@check("ours", "example")
def trainers_print_no_failure(run: Run) -> Iterator[Result]:
    """What trainers print, which sites' logs repeat, has no unexplained exception or end of a process."""
    for name in run.members:
        for record, says in printed_failures(run.records(name)):
            yield unknown(f"A trainer, as {name} logged it: {says}", record.at)


def printed_failures(records: list[LogRecord]) -> Iterator[tuple[LogRecord, str]]:
    """Yield what a site's trainers printed of an exception, the end of a process or an array of NaN alone."""
    over = False
    begun: list[LogRecord] = []
    for record in records:
        if row := next(filter(None, map(_ALL_NAN.search, (record.message, *record.more))), None):
            yield record, f"an array that is not finite: {row[0]}"
        over = over or any(word in record.message for word in _ENDING)
        for line in (record.message, *record.more) if record.logger in TRAINERS else ():
            message = _RANK.sub("", line)
            if _TRACEBACK.search(message):
                begun.append(record)
            if RAISED.match(message) or _DIED.match(message):
                begun = begun[1:]
                if not _is_harmless("site", record.logger, message, over):
                    yield record, message[:300]
    if begun:
        yield begun[0], "a traceback without its exception"


@check("ours", "example")
def job_printed_no_error(run: Run) -> Iterator[Result]:
    """What job.py printed has no error of NVFlare's and no traceback that is not known to be harmless."""
    if not any(line.strip() for line in run.job_log):
        yield unknown("What job.py printed was not kept.")
    of_site: bool | None = None
    for number, line in enumerate(run.job_log, 1):
        plain = _COLOUR.sub("", line)
        console = _CONSOLE.match(plain)
        logger, level = (console[1] or "", console[2]) if console else ("", "")
        printed = plain[console.end() :] if console else plain
        result, says = fails, None
        if level in _BAD_LEVELS:
            says = printed
        elif _TRACEBACK.search(printed):
            of_site = bool(console)
        elif of_site is not None and RAISED.match(printed):
            result, says, of_site = unknown if of_site else fails, printed, None  # a site's went on
        elif not console and _DIED.match(printed):
            says = printed
        if says is not None and not _is_harmless("job", logger, says, after_end=True):
            yield result(f"Line {number} of job.log: {says[:300]}", folders.JOB_LOG)


def _is_harmless(kind: str, logger: str, says: str, after_end: bool) -> bool:
    logger = TRAINERS[0] if logger in TRAINERS else logger
    repeated = kind == "job" and not logger  # the console repeats what any of them logs, without its logger
    return any(
        (repeated or (known.log in ("any", kind) and known.logger in ("", logger)))
        and (known.text or not repeated)
        and re.search(known.text, says)
        and (after_end or not known.after_end)
        for known in harmless()
    )


@check("ours", "example")
def results_are_good(run: Run) -> Iterator[Result]:
    """Every result came with the return code OK, every task ended well, and no launcher's process failed."""
    for record in run.records("server"):
        for code in re.findall(r"peer_rc=(\w+)", record.context):
            if code != "OK":
                yield fails(f"The server had a result with the return code {code}.", record.at)
        status = re.search(r"exit with status (?:TaskCompletionStatus\.)?(\w+)", record.message)
        if status and status[1] != "OK":
            yield fails(f"A task of the server ended with {status[1]}.", record.at)
    for site in run.spec.sites:
        for record in run.records(site.name):
            failed = re.search(
                r"launcher completed with status (?!success)\w+|Failed external setup|_PEER_GONE_"
                r"|exit(?:ed)? with (?:code|status) (?!0\b)-?\d+|return[ _]code[:=]? ?(?!0\b)-?\d+",
                record.message if record.logger not in TRAINERS else "",
            )
            if failed:
                yield fails(f"{site.name} logged: {record.message[:300]}", record.at)
