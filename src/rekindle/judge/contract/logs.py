"""What the logs of NVFlare's server and sites say: all of it, in causal order, without an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

import msgspec

from rekindle.judge.log import Entry, LogRecord
from rekindle.judge.run import Run
from rekindle.judge.workspace import LogLine
from rekindle.records import decodable, decode

from .registry import Doubt, rule

_FIRST = {"server": "Create the Simulator Server.", "site": "ClientTaskWorker started to run"}
_LAST = {"server": "MPM: Good Bye!", "site": "End the Simulator run."}
_BAD_LEVELS = {"ERROR", "CRITICAL", "FATAL"}
_OF_TRAINERS = "SubprocessLauncher"
"""The logger under which a client repeats line by line what its trainer prints."""
_CONSOLE = re.compile(
    r"^(?:\x1b\[[\d;]*m)*\d{4}-\d\d-\d\d [\d:,]+ - (?:[\w.]+ - )?(ERROR|CRITICAL|FATAL) - (.*)"
)
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Signal\w*)\b.*")
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
    text = files("rekindle.judge.contract").joinpath("harmless.json").read_bytes()
    return decode(text, _ALL)


@rule()
def logs_are_whole(run: Run) -> Iterator[Doubt]:
    """The logs of server and sites go from NVFlare's first word to its last, and never back."""
    for name in ("server", *(site.name for site in run.spec.sites)):
        told, kind = run.records(name), "server" if name == "server" else "site"
        if not told:
            yield Doubt(f"{name} left no log.")
            continue
        if told[0].message.strip() != _FIRST[kind] or told[0].at.line != 1:
            yield Doubt(f"{name}'s log does not begin with NVFlare's first word.", told[0].at)
        if told[-1].message.strip() != _LAST[kind]:
            yield Doubt(f"{name}'s log does not end with NVFlare's last word.", told[-1].at)
        for before, after in pairwise(told):
            if after.time < before.time - _BACKWARDS_S:
                yield Doubt(f"The times of {name}'s log go backwards.", after.at)


@rule()
def no_error_logged(run: Run) -> Iterator[Doubt]:
    """No log of the server or of a site has an error or an exception that is not known to be harmless."""
    for name in ("server", *(site.name for site in run.spec.sites)):
        kind: Literal["server", "site"] = "server" if name == "server" else "site"
        ended = False
        for record in run.records(name):
            ended = ended or "asked to end the run" in record.message or "END_RUN fired" in record.message
            for says in _errors(record):
                if not _is_harmless(kind, record.logger, says, ended):
                    yield Doubt(f"{name} logged: {says[:300]}", record.at, holds=False)


def _errors(record: LogRecord) -> Iterator[str]:
    if record.logger == _OF_TRAINERS:
        return
    if record.level in _BAD_LEVELS:
        yield record.message
    elif any(line.startswith("Traceback (most recent call last)") for line in record.more):
        yield next((line for line in reversed(record.more) if _RAISED.match(line)), record.message)


@rule()
def error_logs_are_empty(run: Run) -> Iterator[Doubt]:
    """The error logs of the server and of every site are there, and have harmless lines at most."""
    for name in ("server", *(site.name for site in run.spec.sites)):
        member = run.workspace.members.get(name)
        content = member.read("log_error.txt") if member else None
        if member is None or content is None:
            yield Doubt(f"{name} left no error log.")
            continue
        at = member.path("log_error.txt").relative_to(run.folder).as_posix()
        told = run.records(name, "log_error.txt")
        if content.strip() and not told:
            yield Doubt(f"{name}'s error log is not NVFlare's.", at)
        kind: Literal["server", "site"] = "server" if name == "server" else "site"
        for record in told:
            if not _is_harmless(kind, record.logger, record.message, after_end=True):
                yield Doubt(f"{name} logged: {record.message[:300]}", record.at, holds=False)


@rule()
def job_printed_no_error(run: Run) -> Iterator[Doubt]:
    """What job.py printed has no error of NVFlare's and no traceback that is not known to be harmless."""
    if not run.job_log and run.version > 1:
        yield Doubt("What job.py printed was not kept.")
    inside = False
    for number, line in enumerate(run.job_log, 1):
        console = _CONSOLE.match(line)
        says = console[2] if console else None
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and _RAISED.match(line):
            inside, says = False, line
        if says is not None and not _is_harmless("job", "", says, after_end=True):
            yield Doubt(f"Line {number} of job.log: {says[:300]}", "job.log", holds=False)


def _is_harmless(kind: str, logger: str, says: str, after_end: bool) -> bool:
    return any(
        one.log in ("any", kind)
        and one.logger in ("", logger)
        and re.search(one.text, says)
        and (after_end or not one.after_end)
        for one in harmless()
    )


@rule()
def results_are_good(run: Run) -> Iterator[Doubt]:
    """Every result came with the return code OK, every task ended well, and no launcher's process failed."""
    for record in run.records("server"):
        for code in re.findall(r"peer_rc=(\w+)", record.context):
            if code != "OK":
                yield Doubt(f"The server had a result with the return code {code}.", record.at, holds=False)
        status = re.search(r"exit with status (?:TaskCompletionStatus\.)?(\w+)", record.message)
        if status and status[1] != "OK":
            yield Doubt(f"A task of the server ended with {status[1]}.", record.at, holds=False)
        if "Aborting current RUN" in record.message:
            yield Doubt(f"NVFlare gave the run up: {record.message[:300]}", record.at, holds=False)
    for site in run.spec.sites:
        for record in run.records(site.name):
            failed = re.search(
                r"launcher completed with status (?!success)\w+|Failed external setup|_PEER_GONE_"
                r"|exit(?:ed)? with (?:code|status) (?!0\b)-?\d+|return code:? (?!0\b)-?\d+",
                record.message if record.logger != _OF_TRAINERS else "",
            )
            if failed:
                yield Doubt(f"{site.name} logged: {record.message[:300]}", record.at, holds=False)


@rule()
def server_tells_in_order(run: Run) -> Iterator[Doubt]:
    """The server began each round in turn, gave each site a task, had its result, and then aggregated."""
    order = _Order(run)
    for entry in run.ledger:
        says = order.flaw(entry)
        if says:
            yield Doubt(says, entry.record.at)
    if not order.finished:
        yield Doubt("The server's log does not show that FedAvg finished.")


class _Order:
    """How far the server is by its log, and what of the next entry does not follow from that."""

    def __init__(self, run: Run) -> None:
        self._sites = {site.name for site in run.spec.sites}
        self._rounds = run.spec.job.rounds
        self._round, self._aggregated = -1, len(self._sites)
        self._given: dict[str, str] = {}
        self._had: set[str] = set()
        self.finished = False

    def flaw(self, entry: Entry) -> str | None:
        check: dict[str, Callable[[Entry], str | None]] = {
            "round": self._begins,
            "assigned": self._is_given,
            "result": self._is_had,
            "aggregated": self._is_aggregated,
            "finished": self._finishes,
            "ended": lambda _: None if self.finished else "The server ended before FedAvg had finished.",
        }
        return check[entry.kind](entry)

    @property
    def _complete(self) -> bool:
        return self._aggregated == len(self._sites) and not self.finished

    def _begins(self, entry: Entry) -> str | None:
        in_turn = entry.number == self._round + 1 and self._complete
        self._round, self._given, self._had, self._aggregated = entry.number, {}, set(), 0
        return None if in_turn else f"Round {entry.number} began out of its turn."

    def _is_given(self, entry: Entry) -> str | None:
        in_turn = entry.site in self._sites and entry.site not in self._given and self._round >= 0
        self._given[entry.site] = entry.task
        return None if in_turn else f"{entry.site} got a task of round {self._round} out of its turn."

    def _is_had(self, entry: Entry) -> str | None:
        in_turn = self._given.get(entry.site) == entry.task and entry.site not in self._had
        self._had.add(entry.site)
        return (
            None if in_turn else f"{entry.site}'s result of round {self._round} is of no task it was given."
        )

    def _is_aggregated(self, entry: Entry) -> str | None:
        self._aggregated += 1
        in_turn = entry.number == self._aggregated <= len(self._had) and entry.of == len(self._sites)
        return (
            None if in_turn else f"{entry.number}/{entry.of} results aggregated after {len(self._had)} came."
        )

    def _finishes(self, entry: Entry) -> str | None:
        in_turn = self._round == self._rounds - 1 and self._complete
        self.finished = True
        return None if in_turn else f"FedAvg finished in round {self._round} of {self._rounds}."


@rule()
def sites_tell_the_same(run: Run) -> Iterator[Doubt]:
    """Each site's log is its own, with the tasks that the server gave it, and one result for each."""
    given: dict[str, list[str]] = {}
    for entry in run.ledger:
        if entry.kind == "assigned":
            given.setdefault(entry.site, []).append(entry.task)
    for site in run.spec.sites:
        told = run.site_ledger(site.name)
        names = [entry for entry in told if entry.kind == "joined"]
        if [entry.site for entry in names] != [site.name]:
            yield Doubt(f"The log of {site.name} is not one start of its client.", _at(names))
        for record in run.records(site.name):
            identity = re.search(r"\[identity=([^,\]]+)", record.context)
            if identity and identity[1] != site.name:
                yield Doubt(f"The log of {site.name} is {identity[1]}'s.", record.at)
        tasks = [entry.task for entry in told if entry.kind == "assigned"]
        if tasks != given.get(site.name, []):
            yield Doubt(f"{site.name}'s log has other tasks than the server gave it.", _at(told))
        kinds = [entry.kind for entry in told if entry.kind in ("assigned", "result")]
        if kinds != ["assigned", "result"] * len(tasks):
            yield Doubt(f"{site.name} did not send one result for each of its tasks.", _at(told))
        if not any(entry.kind == "ended" for entry in told):
            yield Doubt(f"The server did not ask {site.name} to end.", _at(told))


def _at(entries: list[Entry]) -> LogLine | None:
    return entries[-1].record.at if entries else None
