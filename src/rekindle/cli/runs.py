"""``rekindle runs RESULTS…``: when each run began, on what, how it ended, and how long it took."""

from rekindle.report.runs import RunsData, runs_data, runs_text
from rekindle.report.table import terminal

from .folders import Runs
from .folders import runs as read
from .verb import OK, Answer, Json, Verb, answer


def run(folders: Runs, json: Json = False) -> Answer:
    """Print a line a run, the newest first.

    Raises:
        RecordError: a folder has no run.
    """
    found = runs_data(*read(folders))
    return answer(OK, runs_text(found, *terminal()), found, json)


VERB = Verb(
    "runs",
    run,
    RunsData,
    ("results", "results --json"),
    "they are listed, however they ended",
)
