# SPDX-License-Identifier: Apache-2.0
"""``rekindle watch [RUN]``: shows a run while a playbook works on it, and changes nothing."""

import time
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from rekindle.report.live import choose_pause, draw_run, erase_run
from rekindle.report.reports import format_summary
from rekindle.report.table import can_redraw
from rekindle.report.watch import format_change
from rekindle.results.contents import Results, gather_results
from rekindle.results.journal import is_playing
from rekindle.results.progress import HostProgress, RunProgress, watch_results

from .report import find_status
from .verb import NEWEST, UNKNOWN, Answer, Verb


def run(
    run: Annotated[
        Path, typer.Argument(metavar="[RUN]", help="Folder of a run's results; the newest by default.")
    ] = NEWEST,
    json: Annotated[
        bool, typer.Option("--json-lines", "--json", help="A line of JSON for each change, for programs.")
    ] = False,
) -> Answer:
    """Show it until no playbook works on it any more, and then its answer.

    Raises:
        RecordError: it is no results folder.
    """
    gather_results(run)
    folder = run.resolve()  # a link may lead to another run later
    snapshots = _snapshots(folder)
    try:
        results = _live(snapshots) if can_redraw() and not json else _lines(snapshots, json)
    except KeyboardInterrupt:
        return Answer(UNKNOWN, "" if json else "The run goes on.")
    return Answer(find_status(results), "" if json else format_summary(results, folder))


def _snapshots(folder: Path) -> Iterator[RunProgress]:
    """Return the run again and again, the last time when no playbook works on it any more."""
    goes_on = True
    while goes_on:
        goes_on, began = is_playing(folder), time.monotonic()
        yield watch_results(folder)
        if goes_on:
            time.sleep(choose_pause(began))


def _live(snapshots: Iterator[RunProgress]) -> Results:
    """Keep a table of the hosts up to date; return the last results."""
    try:
        for run in snapshots:
            draw_run(run)
    finally:
        erase_run()
    return run.results


def _lines(snapshots: Iterator[RunProgress], json: bool) -> Results:
    """Print a line for each host that has changed; return the last results."""
    before: dict[str, HostProgress] = {}
    for run in snapshots:
        for host in run.hosts:
            if before.get(host.host) != host:
                line = dumps(to_builtins(host)) if json else format_change(host, run.at)
                print(line, flush=True)
            before[host.host] = host
    return run.results


VERB = Verb(
    "watch",
    run,
    HostProgress,
    ("results/RUN", "--json-lines"),
    "it is over, and every required job is PASS",
    "it is over, and one is not",
    unknown="it goes on, or is unknown: a record is of another version of Rekindle, or cannot be read",
)
