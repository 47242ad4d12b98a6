# SPDX-License-Identifier: Apache-2.0
"""What all verbs share: arguments, answers, exit statuses, and the end of their help."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import typer

from rekindle.host import folders
from rekindle.records.text import format_json

OK, FAILED, USAGE, UNKNOWN = range(4)
"""Exit statuses of a good answer, a bad one, a wrong call, and of what is refused or unknown."""
OF_STATE = {"ok": OK, "failed": FAILED, "unknown": UNKNOWN}

Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


NEWEST = Path("results", folders.LATEST)
"""What a verb reads that is given no folder of results."""

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="[FOLDER]",
        help="Of results, of a host or a job in it, or a workspace of NVFlare; the newest run by default.",
    ),
]

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="[RESULTS]...",
        help="Folders of a run, or of runs as results/ is; the newest run by default.",
        default_factory=lambda: [NEWEST],
        show_default=False,
    ),
]


class Refusal(msgspec.Struct):
    """What a verb prints with ``--json`` where it has no answer."""

    schema: Literal["rekindle/refusal/1"]
    message: str
    fix: str


class Answer(NamedTuple):
    """What a verb prints, and its exit status."""

    status: int
    text: str


@dataclass(frozen=True)
class Verb:
    """A verb of the command line."""

    name: str
    run: Callable[..., Answer]
    answer: Any
    """What it prints with ``--json``: a type, or a tuple of several."""
    examples: tuple[str, ...]
    good: str
    bad: str = ""
    wrong: str = "called wrongly: there is no such folder, file, record or option"
    unknown: str = "unknown: a record is of another version of Rekindle, or a file cannot be read"
    passes_on: bool = False
    """Whether unknown options are passed on to Ansible."""

    @property
    def epilog(self) -> str:
        """Return examples and exit statuses, as lines that the help does not wrap (``\\b``)."""
        meanings = ((OK, self.good), (FAILED, self.bad), (USAGE, self.wrong), (UNKNOWN, self.unknown))
        statuses = [f"  {status}  {meaning}" for status, meaning in meanings if meaning]
        examples = [f"  rekindle {self.name} {arguments}" for arguments in self.examples]
        return "\n".join(["\b", "Examples:", *examples, "", "\b", "Exit status:", *statuses])


def print_answer(status: int, text: str, value: Any, json: bool) -> Answer:
    """Return ``text`` for a person, or ``value`` in JSON."""
    return Answer(status, format_json(value) if json else text)
