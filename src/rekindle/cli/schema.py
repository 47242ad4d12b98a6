# SPDX-License-Identifier: Apache-2.0
"""``rekindle schema VERB``: the JSON schema of a verb's answer with ``--json``."""

import difflib
import json
from typing import Annotated

import msgspec
import typer

from .verb import OK, Answer, Verb
from .verbs import HELP, load_verb

_NAMED = [name for name in HELP if name != "schema"]


def run(
    verb: Annotated[str, typer.Argument(metavar="VERB", help="Any other.", autocompletion=lambda: _NAMED)],
) -> Answer:
    """Print the schema."""
    if verb not in _NAMED:
        near = difflib.get_close_matches(verb, _NAMED, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"{verb!r} is not one of {', '.join(_NAMED)}.{meant}", param_hint="VERB")
    kinds = load_verb(verb).answer
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    found, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    schema = found[0] if len(found) == 1 else {"anyOf": list(found)}
    first = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return Answer(OK, json.dumps({**first, **schema, "$defs": parts}, indent=2))


VERB = Verb(
    "schema",
    run,
    None,
    ("judge", "site"),
    "it is printed",
    unknown="",
)
