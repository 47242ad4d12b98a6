# SPDX-License-Identifier: Apache-2.0
"""``rekindle bundle PLAN.json …``: the locked wheels of plans, for hosts without a network."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from rekindle.capsule.wheelhouse import LockBundle, bundle_wheels
from rekindle.host import folders

from .record_paths import find_records
from .verb import NEWEST, OK, Answer, Json, Verb, print_answer


def run(
    plans: Annotated[
        list[Path],
        typer.Argument(
            metavar="[PLAN.json]...",
            help="Beside its host.json, or a folder of results with them; the newest by default.",
            default_factory=lambda: [NEWEST],
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="WHEELHOUSE", help="Folder to fill.")],
    json: Json = False,
) -> Answer:
    """Fill the wheelhouse, and report the progress.

    Raises:
        RecordError: a plan or its host record is not valid.
        BundleError: a file could not be fetched.
    """
    paths = [path for plan in plans for path in find_records(plan, folders.PLAN_RECORD)]
    with redirect_stdout(sys.stderr if json else sys.stdout):
        bundled = bundle_wheels(paths, output)
    return print_answer(OK, "", bundled, json)


VERB = Verb(
    "bundle",
    run,
    list[LockBundle],
    ("results/RUN/*/plan.json -o wheelhouse/", "results/RUN -o wheelhouse/"),
    "the wheelhouse is complete",
    unknown="a wheel cannot be had; what was fetched stays, and the same command goes on",
)
