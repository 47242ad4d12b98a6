# SPDX-License-Identifier: Apache-2.0
"""``rekindle runs RESULTS…``: when each run began, on what, how it ended, how long it took."""

from rekindle.report.runs import RunsData, format_runs, make_runs_data
from rekindle.report.table import measure_terminal

from .record_paths import gather_folders
from .verb import OK, Answer, Json, Runs, Verb, print_answer


def run(folders: Runs, json: Json = False) -> Answer:
    """Print a line a run, the newest first.

    Raises:
        RecordError: a folder has no run.
    """
    found, unread = gather_folders(folders)
    listed = make_runs_data(found, unread)
    return print_answer(OK, format_runs(listed, *measure_terminal()), listed, json)


VERB = Verb("runs", run, RunsData, ("results", "results --json"), "they are listed, however they ended")
