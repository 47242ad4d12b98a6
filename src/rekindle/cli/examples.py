# SPDX-License-Identifier: Apache-2.0
"""``rekindle examples [RESULTS…]``: NVFlare's examples, and where each could run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rekindle.gpus.usable import trace
from rekindle.host.places import JOBS
from rekindle.jobs import example_names, foresee, load_job
from rekindle.records import Example, HostRecord, Job, timestamp
from rekindle.records.text import one_line
from rekindle.report.table import grid, terminal
from rekindle.results.board import BoardLine
from rekindle.results.row import RowKind
from rekindle.solver import solve

from . import board
from .folders import gathered
from .verb import OK, UNKNOWN, Answer, Json, Verb, answer


class OnHost(msgspec.Struct):
    """An example on one host."""

    host: str
    could_run: bool | None
    """None: its host.json was not collected."""
    refusal: str | None
    verdict: RowKind | None
    cause: str | None
    run: str | None


class ExampleData(msgspec.Struct):
    """One of NVFlare's examples."""

    job: Job
    hosts: list[OnHost]


def run(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RESULTS]...", help="Folders of a run, or of runs as results/ is."),
    ] = None,
    json: Json = False,
) -> Answer:
    """Print the examples, and for each host of the results whether they could run there.

    Raises:
        RecordError: a folder has no run, or an example's description is broken.
    """
    loaded = [load_job(JOBS, name) for name in example_names(JOBS)]
    found, unread = gathered(folders) if folders else ({}, [])
    lines = board.of(found.values(), unread).lines if found else []
    hosts: dict[str, HostRecord | None] = {}
    for run_results in sorted(found.values(), key=lambda run_results: run_results.playbook.started):
        hosts |= {host.name: host.host or hosts.get(host.name) for host in run_results.hosts}
    on_hosts = [_on_host(name, host, loaded, lines) for name, host in sorted(hosts.items())]
    examples = [ExampleData(job, list(there)) for job, *there in zip(loaded, *on_hosts, strict=True)]
    unknown = unread or None in hosts.values()
    text = "\n".join([_text(examples), *map(one_line, unread)])
    return answer(UNKNOWN if unknown else OK, text, examples, json)


VERB = Verb(
    "examples",
    run,
    list[ExampleData],
    ("", "results", "results/RUN --json"),
    "they are listed",
    unknown="there is no host.json of a host, or a record is of another version of Rekindle",
)


def _on_host(
    name: str, host: HostRecord | None, loaded: list[Job], lines: list[BoardLine]
) -> Iterator[OnHost]:
    """Yield each example on a host, as if nothing were pinned there."""
    refusals: dict[str, str | None] = {}
    if host:
        frameworks = list(dict.fromkeys(job.environment for job in loaded))
        plan = solve(host, frameworks, gpus_required=trace(host), made=timestamp(), host_sha256="")
        refusals = {foreseen.job.name: foreseen.refusal for foreseen in foresee(loaded, host, plan, None)}
    newest = {line.job: line for line in sorted(lines, key=lambda line: line.began) if line.host == name}
    for job in loaded:
        refusal, line = refusals.get(job.name), newest.get(job.name)
        could = refusal is None if host else None
        last = (line.verdict, line.cause, line.run) if line else (None, None, None)
        yield OnHost(name, could, refusal, *last)


def _limits(job: Job, example: Example) -> Iterator[str]:
    if example.removed:
        yield f"Removed after {example.removed.commit}: {example.removed.why}."
    if job.image:
        yield f"Runs in the container {job.image}."
    for mend in example.mends:
        yield f"Mended{' on CPU' if mend.where == 'cpu' else ''} ({mend.fault}): {mend.because}."


def _text(examples: list[ExampleData]) -> str:
    needs = [
        {
            "example": data.job.name,
            "environment": data.job.environment,
            "sites": f"{data.job.sites} × {data.job.ranks_per_site}",
            "data": ", ".join(f"{name} (stand-in)" for name in example.data) or "its own",
            "what": " ".join([f"{data.job.summary}.", *_limits(data.job, example)]),
        }
        for data in examples
        if (example := data.job.example)
    ]
    there = [
        {
            "host": host.host,
            "example": data.job.name,
            "can run": {True: "yes", False: "no", None: "unknown"}[host.could_run],
            "verdict": host.verdict or "–",
            "why": " ".join(filter(None, (host.refusal, host.cause))),
        }
        for data in examples
        for host in data.hosts
    ]
    size = terminal()
    there.sort(key=lambda row: row["host"])
    tables = (
        grid(needs, {"example": 0.25, "environment": 0.16, "sites": 1.0, "data": 0.16}, *size),
        grid(there, {"host": 0.16, "example": 0.2, "can run": 1.0, "verdict": 1.0}, *size),
    )
    return "\n\n".join(filter(None, tables))
