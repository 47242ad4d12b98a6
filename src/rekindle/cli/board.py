# SPDX-License-Identifier: Apache-2.0
"""``rekindle board RESULTS…``: the newest verdict on every job by environment and host, and since when."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated

import typer

from rekindle.doctor.known_issues import known_issues
from rekindle.host.places import JOBS
from rekindle.jobs import expand, known_jobs, load_job
from rekindle.records import RecordError, timestamp
from rekindle.report.board import board_markdown, board_text
from rekindle.report.table import terminal
from rekindle.results.board import Board, board
from rekindle.results.gather import Results

from .folders import Runs, gathered
from .verb import OF_STATE, Answer, Json, Verb, answer


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
    found, unread = gathered(folders)
    current = of(found.values(), unread)
    text = board_markdown(current) if markdown else board_text(current, *terminal())
    return answer(OF_STATE[current.state], text, current, json)


VERB = Verb(
    "board",
    run,
    Board,
    ("results", "results/RUN results/OTHER --json", "results --markdown"),
    "the newest verdict on every required job is PASS, or a known issue that has not expired",
    "one is not",
)


def of(results: Iterable[Results], unread: list[str]) -> Board:
    """Return the board of runs, with the jobs and known issues of this version."""
    frameworks: dict[str, str] = {}
    for name in expand(JOBS, known_jobs(JOBS)):
        with suppress(RecordError):  # its run reports it
            job = load_job(JOBS, name)
            frameworks[job.name] = job.environment
    issues = {issue.name: issue for issue in known_issues()}
    return board(results, frameworks, issues, timestamp(), unread)
