# SPDX-License-Identifier: Apache-2.0
"""``rekindle board RESULTS…``: the newest verdict on every job by environment and host, and since when."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from rekindle.host import storage
from rekindle.host.paths import JOBS
from rekindle.jobs import expand_names, list_jobs, load_job
from rekindle.judge.known_issues import load_known_issues
from rekindle.records import RecordError, explain_unwritten, format_time
from rekindle.report.board import format_board, format_markdown
from rekindle.report.board_page import render_board_page
from rekindle.report.digest import format_digest
from rekindle.report.table import measure_terminal
from rekindle.results.board import Board, make_board_of_runs
from rekindle.results.contents import Results
from rekindle.results.gpu_trends import find_gpu_trends

from .record_paths import gather_folders
from .verb import OF_STATE, Answer, Json, Runs, Verb, print_answer


def run(
    folders: Runs,
    everything: Annotated[bool, typer.Option("--all", help="A line for each job, host and build.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="All lines, as a table for a wiki.")] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write the answer to this HTML file, with trends.")
    ] = None,
    json: Json = False,
) -> Answer:
    """Print what changed, what is slower, what is not PASS since when, and a line a job.

    Raises:
        RecordError: a folder has no run, or the page cannot be written.
    """
    if json and markdown:
        raise typer.BadParameter("it is one or the other", param_hint="--json, --markdown")
    found, unread = gather_folders(folders)
    current = make_board(found.values(), unread)
    if page:
        _write_page(page, current, found)
    shown = format_board if everything else format_digest
    text = format_markdown(current) if markdown else shown(current, *measure_terminal())
    return print_answer(OF_STATE[current.state], text, current, json)


VERB = Verb(
    "board",
    run,
    Board,
    (
        "results",
        "results/RUN results/OTHER --json",
        "results --all",
        "results --page results/board.html",
        "results --markdown",
    ),
    "the newest verdict on every required job is PASS, or a known issue that has not expired",
    "one is not",
)


def _write_page(page: Path, current: Board, found: Mapping[Path, Results]) -> None:
    here = page.resolve().parent
    links = {
        results.playbook.run: folder.resolve().relative_to(here).as_posix()
        for folder, results in found.items()
        if folder.resolve().is_relative_to(here)
    }
    content = render_board_page(current, find_gpu_trends(found.values()), links).encode()
    with explain_unwritten(page, "name a file in a folder that is there and yours."):
        storage.write_file(page, content)


def make_board(results: Iterable[Results], unread: list[str]) -> Board:
    """Return the board of runs, with the jobs and known issues of this version."""
    frameworks: dict[str, str] = {}
    for name in expand_names(JOBS, list_jobs(JOBS)):
        with suppress(RecordError):  # its run reports it
            job = load_job(JOBS, name)
            frameworks[job.name] = job.environment
    issues = {issue.name: issue for issue in load_known_issues()}
    return make_board_of_runs(results, frameworks, issues, format_time(), unread)
