"""``rekindle diff ENV_A ENV_B``: what differs between the environments of two env.json."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rekindle.capsule.differences import differences
from rekindle.host import folders
from rekindle.records import EnvRecord, read
from rekindle.records.text import printed

from .folders import record
from .verb import FAILED, OK, Answer, Json, Verb, answer


class Differences(msgspec.Struct):
    """What differs, a sentence each; none if the environments are the same."""

    differences: list[str]


def run(
    first: Annotated[Path, typer.Argument(metavar="ENV_A", help="An env.json, or the folder that has it.")],
    second: Annotated[Path, typer.Argument(metavar="ENV_B", help="Another.")],
    json: Json = False,
) -> Answer:
    """Print one difference a line.

    Raises:
        RecordError: there is no env.json.
    """
    envs = [read(record(path, folders.ENV_RECORD), EnvRecord) for path in (first, second)]
    lines = list(differences(*envs))
    text = "\n".join(map(printed, lines)) if lines else "The environments are the same."
    return answer(FAILED if lines else OK, text, Differences(lines), json)


VERB = Verb(
    "diff",
    run,
    Differences,
    ("results/RUN/HOST results/OTHER/HOST", "results/RUN/HOST/env.json other/env.json --json"),
    "the environments are the same",
    "they differ",
)
