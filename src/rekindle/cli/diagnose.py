# SPDX-License-Identifier: Apache-2.0
"""``rekindle diagnose [PATH …]``: why a run failed, from its files or any log."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from rekindle import doctor
from rekindle.records import Diagnosis, Finding, RecordError
from rekindle.report.findings import format_diagnosis

from .verb import FAILED, OK, Answer, Json, Verb, print_answer


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
    """Print the cause, what else is found, and the timeline: of all log files together, of each folder alone.

    Raises:
        RecordError: a path does not exist, or is no log that can be read.
    """
    given = paths or ["-"]
    folders = [path for path in given if path != "-" and Path(path).is_dir()]
    found = [_of_folder(Path(path)) for path in folders]
    logs = list(doctor.read_logs(Path(path) for path in given if path not in ("-", *folders)))
    if "-" in given:
        logs.append(doctor.texts.read_stream(sys.stdin.buffer, "standard input"))
    for log in logs:
        if not log.raw.strip():
            raise RecordError(f"{log.file} is empty.", "name the log of what failed, or see what wrote none.")
        if log.is_binary:
            raise RecordError(f"{log.file} is no text.", "decompress it first: zcat FILE | rekindle diagnose")
    if logs:
        found.append(doctor.diagnose_texts(logs))
    failed = any(one.findings or (one.timeline and not one.went_on) for one in found)
    return print_answer(FAILED if failed else OK, "\n\n".join(map(format_diagnosis, found)), found, json)


def _of_folder(path: Path) -> Diagnosis:
    """Return why the run in a folder failed, as its verdict has it; of another folder, by its logs alone."""
    from rekindle.judge import explain_run  # noqa: PLC0415 - all checks: a log alone is answered in half the time

    try:
        next(path.iterdir(), None)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", "see its rights: ls -ld.") from None
    if not any(doctor.texts.find_logs(path)) and not any(path.glob("evidence/*.jsonl")):
        raise RecordError(f"{path} holds no log.", "name a run's folder, a workspace, or a log file.")
    diagnosis = None
    with suppress(RecordError):
        diagnosis = explain_run(path)
    diagnosis = diagnosis or doctor.diagnose_run(path)

    def named(finding: Finding) -> Finding:
        return replace(finding, file=str(path / finding.file) if finding.file else None)

    return replace(
        diagnosis,
        cause=named(diagnosis.cause) if diagnosis.cause else None,
        others=tuple(map(named, diagnosis.others)),
        timeline=tuple(replace(one, file=str(path / one.file)) for one in diagnosis.timeline),
    )


VERB = Verb(
    "diagnose",
    run,
    list[Diagnosis],
    ("results/RUN/HOST/JOB", "WORKSPACE server.log --json", "- < server.log"),
    "no failure is found; errors that were overcome may be",
    "a failure is found",
)
