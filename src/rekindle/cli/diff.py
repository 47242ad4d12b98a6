# SPDX-License-Identifier: Apache-2.0
"""``rekindle diff A B``: what differs between two runs, or between the environments of two env.json."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rekindle.capsule.changes import changes
from rekindle.capsule.differences import differences
from rekindle.host import folders
from rekindle.records import EnvRecord, read
from rekindle.records.text import few, printed
from rekindle.results.gather import gather

from .folders import is_results, record
from .verb import FAILED, OK, Answer, Json, Verb, answer


class Differences(msgspec.Struct):
    """What differs, a sentence each with its host; none if nothing does."""

    differences: list[str]


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
        return _runs(first, second, json)
    envs = [read(record(path, folders.ENV_RECORD), EnvRecord) for path in (first, second)]
    lines = list(differences(*envs))
    text = "\n".join(map(printed, lines)) if lines else "The environments are the same."
    return answer(FAILED if lines else OK, text, Differences(lines), json)


def _runs(first: Path, second: Path, json: bool) -> Answer:
    found = changes(gather(first), gather(second), first, second)
    lines = [
        f"{few(hosts)}: {message}{'' if exact else ' (figures of the first)'}"
        for message, hosts, exact in found.grouped
    ]
    environments = f"the environments of {found.same_environments} hosts"
    same = f"{found.same_verdicts} verdicts and {environments} are the same."
    sentences = [f"{host}: {message}" for host, message in found.found]
    text = "\n".join(map(printed, [*lines, same]))
    return answer(FAILED if lines else OK, text, Differences(sentences), json)


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
