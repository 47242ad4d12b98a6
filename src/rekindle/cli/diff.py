# SPDX-License-Identifier: Apache-2.0
"""``rekindle diff A B``: what differs between two runs, or between the environments of two env.json."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rekindle.host import folders
from rekindle.records import EnvRecord, read_record
from rekindle.records.text import clean_line
from rekindle.report.comparison import format_comparison, list_changes
from rekindle.results.comparison import JobComparison, compare_environments, compare_runs
from rekindle.results.contents import gather_results

from .record_paths import find_record, is_results
from .verb import FAILED, OK, Answer, Json, Verb, print_answer


class Differences(msgspec.Struct):
    """What differs, a sentence each with its host; none if nothing does."""

    differences: list[str]
    jobs: list[JobComparison] = []
    """Of runs, every job that either has."""


def run(
    first: Annotated[Path, typer.Argument(metavar="A", help="Results of a run, a host's, or an env.json.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    json: Json = False,
) -> Answer:
    """Print one difference a line, of runs with the hosts on which it is alike.

    Raises:
        RecordError: there is no env.json.
    """
    if is_results(first) and is_results(second):
        found = compare_runs(gather_results(first), gather_results(second), first, second)
        changes = [f"{host}: {message}" for host, message in list_changes(found)]
        value, text = Differences(changes, found.jobs), format_comparison(found)
    else:
        envs = [read_record(find_record(path, folders.ENV_RECORD), EnvRecord) for path in (first, second)]
        value = Differences(list(compare_environments(*envs)))
        text = "\n".join(map(clean_line, value.differences)) or "The environments are the same."
    return print_answer(FAILED if value.differences else OK, text, value, json)


VERB = Verb(
    "diff",
    run,
    Differences,
    (
        "results/RUN results/OTHER",
        "results/RUN/HOST results/OTHER/HOST",
        "results/RUN/HOST/env.json other/env.json --json",
    ),
    "nothing differs",
    "they differ",
)
