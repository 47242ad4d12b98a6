# SPDX-License-Identifier: Apache-2.0
"""``rekindle runs RESULTS…``: when each run began, on what, how it ended, how long it took."""

from rekindle.report.runs import RunsData, runs_data, runs_text
from rekindle.report.table import terminal

from .folders import Runs, gathered
from .verb import OK, Answer, Json, Verb, answer


def run(folders: Runs, json: Json = False) -> Answer:
    """Print a line a run, the newest first.

    Raises:
        RecordError: a folder has no run.
    """
    found, unread = gathered(folders)
    listed = runs_data(found.values(), unread)
    return answer(OK, runs_text(listed, *terminal()), listed, json)


VERB = Verb("runs", run, RunsData, ("results", "results --json"), "they are listed, however they ended")
