"""``rekindle plan HOST.json``: the solver on any machine, from a host record alone."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from rekindle.gpus.missing import trace
from rekindle.records import HostRecord, PlanRecord, read, timestamp
from rekindle.records.plan import FRAMEWORKS, Framework
from rekindle.records.text import printed
from rekindle.report import plan_lines
from rekindle.solver import solve
from rekindle.solver.catalogue import environments

from .folders import is_results, records
from .verb import GOOD, UNTOLD, Answer, Json, Verb, answer


def _environment(name: str) -> str:
    known = environments()
    if name not in known:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}")
    return name


def run(
    host: Annotated[
        Path, typer.Argument(metavar="HOST.json", help="The record, or a folder of results that holds it.")
    ],
    framework: Annotated[
        str | None,
        typer.Option(help="Plan this one alone, such as torch or torch+vision.", parser=_environment),
    ] = None,
    json: Json = False,
) -> Answer:
    """Print the plan for each host record; a host that shows no trace of a GPU gets the CPU builds.

    Raises:
        RecordError: there is no host.json.
    """
    wanted = (framework,) if framework else FRAMEWORKS
    plans = [_plan(path, wanted) for path in records(host, "host.json")]
    several = is_results(host)
    lines = [
        line
        for plan in plans
        for line in (*([f"{plan.host}:"] if several else []), *map(printed, _text(plan)))
    ]
    built = all(one.build for plan in plans for one in plan.environments)
    return answer(GOOD if built else UNTOLD, "\n".join(lines), plans if several else plans[0], json)


VERB = Verb(
    "plan",
    run,
    "Decide from a host.json which builds go on that host.",
    PlanRecord | list[PlanRecord],
    ("results/RUN/HOST/host.json", "results/RUN/HOST --framework torch", "results/RUN --json"),
    "there is a build of every framework",
    untold="a framework is refused, or a record is of another version of Rekindle",
)


def _plan(path: Path, wanted: tuple[Framework, ...]) -> PlanRecord:
    host = read(path, HostRecord)
    return solve(
        host,
        wanted,
        gpus_required=trace(host),
        made=timestamp(),
        host_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def _text(plan: PlanRecord) -> list[str]:
    return [line for one in plan.environments for line in plan_lines(one)]
