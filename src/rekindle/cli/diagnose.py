# SPDX-License-Identifier: Apache-2.0
"""``rekindle diagnose [PATH …]``: why a run failed, from its files or any log."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rekindle import doctor
from rekindle.records import Finding
from rekindle.report.findings import findings

from .verb import FAILED, OK, Answer, Json, Verb, answer


def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Log file, run's folder, workspace of NVFlare; - or nothing: standard input.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Print the findings, echoes last.

    Raises:
        RecordError: a path does not exist.
    """
    given = paths or ["-"]
    found = doctor.diagnose_paths([Path(path) for path in given if path != "-"])
    if "-" in given:
        text = doctor.texts.text("standard input", sys.stdin.buffer.read(doctor.texts.LIMIT))
        found += doctor.diagnose_texts([text])
    found = tuple(sorted(found, key=lambda finding: finding.echo))
    return answer(FAILED if found else OK, findings(found), found, json)


VERB = Verb(
    "diagnose",
    run,
    list[Finding],
    ("results/RUN/HOST/JOB", "WORKSPACE server.log --json", "- < server.log"),
    "nothing is found",
    "something is found",
)
