# SPDX-License-Identifier: Apache-2.0
"""``rekindle runs RESULTS…``: when each run began, on what, how it ended, how long it took; which may go."""

import sys
from contextlib import suppress
from typing import Annotated

import typer

from rekindle.host import folders as names
from rekindle.host import own
from rekindle.records import Complaint
from rekindle.records.text import few, printed
from rekindle.report.runs import RunsData, runs_data, runs_text
from rekindle.report.table import terminal
from rekindle.results.links import real_runs
from rekindle.results.pruning import removable

from .folders import Runs, gathered
from .verb import OK, Answer, Json, Verb, answer


def run(
    folders: Runs,
    prune: Annotated[
        int | None,
        typer.Option(
            metavar="KEEP",
            min=1,
            help="Remove all but the newest KEEP, and those that have a job's last PASS or open failure.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before anything is removed.")] = False,
    json: Json = False,
) -> Answer:
    """Print a line a run, the newest first.

    Raises:
        RecordError: a folder has no run.
        Complaint: there is nobody to ask.
        OSError: a run cannot be removed.
    """
    found, unread = gathered(folders)
    if prune is None:
        listed = runs_data(found.values(), unread)
        return answer(OK, runs_text(listed, *terminal()), listed, json)
    may_go = removable(found, prune)
    gone = real_runs(folders, may_go)
    linked = [f"{printed(str(path))} is kept: a link leads to it." for path in may_go if path not in gone]
    what = f"{len(gone)} of {len(found)} runs: {few([printed(str(path)) for path in gone])}"
    if gone and not yes and not _agreed(f"Remove {what}?"):
        return Answer(OK, "\n".join(["Nothing was removed.", *linked]))
    for path in gone:
        (path / names.PLAY_RECORD).unlink()  # what is left of an interrupted removal is no run
        own.remove(path)
    removed = set(gone)
    listed = runs_data((of for path, of in found.items() if path not in removed), unread)
    listed.removed = [str(path) for path in gone]
    text = "\n".join([f"Removed {what}." if gone else "No run may go.", *linked])
    return answer(OK, text, listed, json)


def _agreed(question: str) -> bool:
    """Ask on the terminal.

    Raises:
        Complaint: there is none.
    """
    if not sys.stdin.isatty():
        raise Complaint("Nobody can be asked whether to remove runs.", "add --yes.")
    with suppress(typer.Abort):
        return typer.confirm(question, err=True)
    return False


VERB = Verb(
    "runs",
    run,
    RunsData,
    ("results", "results --json", "results --prune 30"),
    "they are listed, however they ended",
)
