"""``rekindle schema VERB``: the JSON schema of a verb's answer with ``--json``."""

import difflib
import json
from typing import Annotated

import msgspec
import typer

from . import (
    accept,
    board,
    bundle,
    diagnose,
    diff,
    examples,
    federation,
    judge,
    plan,
    plays,
    report,
    upgrade,
    verify,
)
from .verb import OK, Answer, Verb

VERBS = (
    plays.SITE,
    plays.FEDERATE,
    federation.VERB,
    plays.CHECK,
    plays.RETIRE,
    upgrade.VERB,
    plan.VERB,
    judge.VERB,
    diagnose.VERB,
    bundle.VERB,
    diff.VERB,
    report.VERB,
    verify.VERB,
    board.VERB,
    accept.VERB,
    examples.VERB,
)
_NAMED = {verb.name: verb for verb in VERBS}


def run(
    verb: Annotated[str, typer.Argument(metavar="VERB", help="Any other.", autocompletion=lambda: [*_NAMED])],
) -> Answer:
    """Print the schema."""
    if verb not in _NAMED:
        near = difflib.get_close_matches(verb, _NAMED, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"{verb!r} is not one of {', '.join(_NAMED)}.{meant}", param_hint="VERB")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return Answer(OK, json.dumps(schema | msgspec.json.schema(_NAMED[verb].answer), indent=2))


VERB = Verb(
    "schema",
    run,
    "Print the JSON schema of what a verb answers with --json.",
    None,
    ("judge", "site"),
    "it is printed",
    unknown="",
)
