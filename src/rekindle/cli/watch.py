# SPDX-License-Identifier: Apache-2.0
"""``rekindle watch [RUN]``: shows a run while a playbook works on it, and changes nothing."""

import time
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from rekindle.report.live import draw, erase, pause_s
from rekindle.report.reports import summary
from rekindle.report.table import draws
from rekindle.report.watch import change_text
from rekindle.results.gather import Results, gather
from rekindle.results.journal import playing
from rekindle.results.watched import Snapshot, Watched, snapshot

from .folders import NEWEST
from .report import standing
from .verb import UNKNOWN, Answer, Verb


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
    gather(run)
    folder = run.resolve()  # a link may lead to another run later
    snapshots = _snapshots(folder)
    try:
        results = _live(snapshots) if draws() and not json else _lines(snapshots, json)
    except KeyboardInterrupt:
        return Answer(UNKNOWN, "" if json else "The run goes on.")
    return Answer(standing(results), "" if json else summary(results, folder))


def _snapshots(folder: Path) -> Iterator[Snapshot]:
    """Return the run again and again, the last time when no playbook works on it any more."""
    goes_on = True
    while goes_on:
        goes_on, began = playing(folder), time.monotonic()
        yield snapshot(folder)
        if goes_on:
            time.sleep(pause_s(began))


def _live(snapshots: Iterator[Snapshot]) -> Results:
    """Keep a table of the hosts up to date; return the last results."""
    try:
        for run in snapshots:
            draw(run)
    finally:
        erase()
    return run.results


def _lines(snapshots: Iterator[Snapshot], json: bool) -> Results:
    """Print a line for each host that has changed; return the last results."""
    before: dict[str, Watched] = {}
    for run in snapshots:
        for host in run.hosts:
            if before.get(host.host) != host:
                line = dumps(to_builtins(host)) if json else change_text(host, run.at)
                print(line, flush=True)
            before[host.host] = host
    return run.results


VERB = Verb(
    "watch",
    run,
    Watched,
    ("results/RUN", "--json-lines"),
    "it is over, and every required job is PASS",
    "it is over, and one is not",
    unknown="it goes on, or is unknown: a record is of another version of Rekindle, or cannot be read",
)
