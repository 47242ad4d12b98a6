"""``rekindle schema VERB``: the JSON schema of what a verb prints with ``--json``."""

from __future__ import annotations

import difflib
import json
from typing import Annotated

import msgspec
import typer

from .verb import GOOD, Answer, Verb

_VERBS: dict[str, Verb] = {}


def run(
    verb: Annotated[str, typer.Argument(metavar="VERB", help="Any other.", autocompletion=lambda: [*_VERBS])],
) -> Answer:
    """Print the schema."""
    if verb not in _VERBS:
        near = difflib.get_close_matches(verb, _VERBS, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"{verb!r} is none of {', '.join(_VERBS)}.{meant}", param_hint="VERB")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return Answer(GOOD, json.dumps(schema | msgspec.json.schema(_VERBS[verb].answer), indent=2))


VERB = Verb(
    "schema",
    run,
    "Print the JSON schema of what a verb answers with --json.",
    None,
    ("judge", "site"),
    "it is printed",
    untold="",
)


def know(verbs: tuple[Verb, ...]) -> None:
    """Let it know the verbs that answer in JSON."""
    _VERBS.update((verb.name, verb) for verb in verbs)
