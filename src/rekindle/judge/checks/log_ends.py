# SPDX-License-Identifier: Apache-2.0
"""The logs of NVFlare's server and sites, and job.py's output, go from their first line to their last."""

import re
from collections.abc import Iterator
from itertools import pairwise

from rekindle.flare.log import GIVEN, LogRecord
from rekindle.flare.workspace import SERVER
from rekindle.judge.check import Result, register_check, unknown
from rekindle.judge.run import Run

_FIRST = {
    "server": (
        "Create the Simulator Server.",
        "When running with multi GPU, each GPU group will run with only 1 thread. Set the Threads to 1.",
        "Runner_process started.",
    ),
    "site": ("ClientTaskWorker started to run", "Worker_process started."),
}
"""Of the simulator, and of a federation's job processes."""
_LAST = {"server": ("MPM: Good Bye!",), "site": ("End the Simulator run.", "MPM: Good Bye!")}
_TURN = "Finished one task run for client"
"""What a client logs last whose turn is over, where NVFlare's simulator has fewer threads than sites."""
_AFTER_LAST = re.compile(
    r"Clean up ClientRunner for : \S+ ?$|Connection \[.{1,60}\] is closed PID: \d+$"
    r"|\[server\] download tx \S+ done: status=finished elapsed=[\d.]+s size=[\d.]+MB \([\d,]+ bytes\)$"
)
"""Lines that a client may add after its last one."""
CONSOLE = re.compile(
    r"^(\d{4}-\d\d-\d\d [\d:,]+) - (?:([\w.]+) - )?(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL) - "
)
"""What a line of a console begins with: time, logger if it has one, and level."""
CONTEXT = re.compile(r"\[identity=[^\[\]]*\] - ")
"""What stands before a message there: whose it is."""
_REPEATED = 5
"""Of so many lines that the console repeats, one at least is whole: others print there too."""
_AFTER_S = 2.0
"""Threads of a process that ends may log for this long, as Flower's do."""
_BACKWARDS_S = 2.0
"""Threads write to one log, each with the time at which it began a line."""


def is_in_turn(run: Run) -> bool:
    """Return whether NVFlare's simulator restarted a site's client for each task."""
    of_sites = (run.logs.records(site.name) for site in run.spec.sites)
    pairs = (pair for records in of_sites for pair in pairwise(records))
    return any(_TURN in last.message and then.message.strip() == _FIRST["site"][0] for last, then in pairs)


@register_check(
    "federated",
    holds="The logs of server and sites go from NVFlare's first line to its last, and never back.",
)
def logs_are_whole(run: Run) -> Iterator[Result]:
    """The log of job.py repeats the server's up to its end, in lines of the loggers and levels that its
    console shows.
    """
    turns = is_in_turn(run)
    for name in run.members:
        records, kind = run.logs.records(name), "server" if name == "server" else "site"
        if not records:
            yield unknown(f"{name} left no log.")
            continue
        if any("\0" in line for line in run.workspace.members[name].log or ()):
            yield unknown(f"{name}'s log has zeros in it, as after a loss of power.", records[0].at)
        if records[0].message.strip() not in _FIRST[kind] or records[0].at.line != 1:
            yield unknown(f"{name}'s log does not begin with NVFlare's first line.", records[0].at)
        owing = _drop_idle(records) if turns and kind == "site" else records
        if stops := _find_stop(owing, kind, turns):
            yield unknown(f"{name}'s log does not end with NVFlare's last line.", stops.at)
        for before, after in pairwise(records):
            if after.time < before.time - _BACKWARDS_S:
                yield unknown(f"The times of {name}'s log go backwards.", after.at)
    if not _repeated(run):
        yield unknown("job.log does not repeat the server's log up to its end.")


def _drop_idle(records: list[LogRecord]) -> list[LogRecord]:
    """Return a site's records without its last turns that got no task: NVFlare ends those without a line."""
    given = max((at for at, record in enumerate(records) if GIVEN.search(record.message)), default=-1)
    begins = (at for at, record in enumerate(records) if record.message.strip() == _FIRST["site"][0])
    return records[: next((at for at in begins if at > given), None)]


def _find_stop(records: list[LogRecord], kind: str, turns: bool) -> LogRecord | None:
    """Return the last record of a log that stops before its end; None if it ends or owes no end."""
    ends = [
        record.time
        for record in records
        if record.message.strip() in _LAST[kind] or (turns and _TURN in record.message)
    ]
    last = next((one for one in reversed(records) if not _AFTER_LAST.match(one.message)), None)
    return last if last and (not ends or last.time > ends[-1] + _AFTER_S) else None


def _repeated(run: Run) -> bool:
    """Whether job.log repeats the server's log to its end, or owes none of it: sites print there too."""
    of_sites = (run.logs.records(name) for name in run.members if name != SERVER)
    printed = {*_printed(run)} - {(one.match[1], one.message) for records in of_sites for one in records}
    repeats = [
        ((record.logger, record.level), (record.match[1], record.message))
        for record in run.logs.records(SERVER)
    ]
    shown = {kind for kind, line in repeats if line in printed}
    final = [line for kind, line in repeats if kind in shown][-_REPEATED:]
    return not printed.isdisjoint(final) if final else not (printed and repeats)


def _printed(run: Run) -> Iterator[tuple[str, str]]:
    """Yield time and message of each of NVFlare's lines that job.py printed."""
    for line in run.logs.printed:
        if console := CONSOLE.match(line):
            yield console[1], CONTEXT.sub("", line[console.end() :], count=1)
