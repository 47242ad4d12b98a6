# SPDX-License-Identifier: Apache-2.0
"""``rekindle board RESULTS…``: the newest verdict on every job by environment and host, and since when."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated

import typer

from rekindle.doctor.known_issues import load_known_issues
from rekindle.host.paths import JOBS
from rekindle.jobs import expand_names, list_jobs, load_job
from rekindle.records import RecordError, format_time
from rekindle.report.board import format_board, format_markdown
from rekindle.report.table import measure_terminal
from rekindle.results.board import Board, make_board_of_runs
from rekindle.results.contents import Results

from .record_paths import Runs, gather_folders
from .verb import OF_STATE, Answer, Json, Verb, print_answer


def run(
    folders: Runs,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table for a wiki.")] = False,
    json: Json = False,
) -> Answer:
    """Print the board.

    Raises:
        RecordError: a folder has no run.
    """
    if json and markdown:
        raise typer.BadParameter("it is one or the other", param_hint="--json, --markdown")
    found, unread = gather_folders(folders)
    current = make_board(found.values(), unread)
    text = format_markdown(current) if markdown else format_board(current, *measure_terminal())
    return print_answer(OF_STATE[current.state], text, current, json)


VERB = Verb(
    "board",
    run,
    Board,
    ("results", "results/RUN results/OTHER --json", "results --markdown"),
    "the newest verdict on every required job is PASS, or a known issue that has not expired",
    "one is not",
)


def make_board(results: Iterable[Results], unread: list[str]) -> Board:
    """Return the board of runs, with the jobs and known issues of this version."""
    frameworks: dict[str, str] = {}
    for name in expand_names(JOBS, list_jobs(JOBS)):
        with suppress(RecordError):  # its run reports it
            job = load_job(JOBS, name)
            frameworks[job.name] = job.environment
    issues = {issue.name: issue for issue in load_known_issues()}
    return make_board_of_runs(results, frameworks, issues, format_time(), unread)
