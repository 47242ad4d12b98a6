# SPDX-License-Identifier: Apache-2.0
"""``rekindle job PATH``: a user's own job as Rekindle understands it, as its job.yml."""

import platform
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
import yaml

from rekindle.host import paths
from rekindle.jobs import OwnJob, find_job_flaws, read_own, refuse_unread
from rekindle.jobs.defaults import FILE, locate_file
from rekindle.records import Job, RecordError
from rekindle.solver.catalogue import load_rules

from .verb import OK, Answer, Json, Verb, print_answer

_ORDER = (
    "schema",
    "name",
    "summary",
    "environment",
    "requirements",
    "example",
    "sites",
    "ranks_per_site",
    "rounds",
)
_WIDTH, _LONG = 36, 60
"""Of a line before its comment, and of one that has it above."""


class JobData(msgspec.Struct):
    """What ``--json`` prints."""

    schema: Literal["rekindle/job-data/1"]
    job: Job
    because: dict[str, str]
    """Of each field that job.yml leaves out: where its value comes from."""


def run(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Your job: its script, its folder, its meta.json or its job.yml.",
            show_default=False,
        ),
    ],
    write: Annotated[bool, typer.Option("--write", help="Save it as job.yml beside the job.")] = False,
    json: Json = False,
) -> Answer:
    """Print it; `read_own` has its errors.

    Raises:
        RecordError: with ``write``, there is a job.yml.
    """
    here = paths.resolve_path(str(path))
    own, file = read_own(paths.JOBS, here), locate_file(here)
    text = _yaml(own)
    unread = refuse_unread(own.source, platform.python_version())
    unfit = find_job_flaws(own.source, own.job, load_rules().nvflare.version)
    if write:
        try:
            with file.open("x", encoding="utf-8") as stream:  # follows no link
                stream.write(text + "\n")
        except FileExistsError:
            raise RecordError(f"There is {file}.", "remove it first, or correct it by hand.") from None
        text = f"{file} is written."
    because = {name: one.because for name, one in own.found.items()}
    text = "\n".join([*(f"# {one}" for one in (unread, *unfit) if one), text])
    return print_answer(OK, text, JobData("rekindle/job-data/1", own.job, because), json)


def _yaml(own: OwnJob) -> str:
    """Return its job.yml, with where each line comes from as a comment behind it."""
    values = {**own.given, **{name: one.value for name, one in own.found.items()}}
    names = [*(name for name in _ORDER if name in values), *(name for name in values if name not in _ORDER)]
    lines = []
    for name in names:
        because = own.found[name].because if name in own.found else FILE
        line = f"{name}: {_flow(values[name])}"
        lines += [f"{line:{_WIDTH}}  # {because}"] if len(line) < _LONG else [f"# {because}", line]
    return "\n".join(lines)


def _flow(value: Any) -> str:
    dumped = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True)
    return dumped.removesuffix("\n").removesuffix("\n...")


VERB = Verb(
    "job",
    run,
    answer=JobData,
    examples=("/data/my_project", "/data/my_project/job.py --write"),
    good="it is understood",
    wrong="called wrongly: there is no such job, or it cannot run",
)
