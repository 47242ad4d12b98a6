# SPDX-License-Identifier: Apache-2.0
"""``rekindle plan HOST.json…``: plans on any machine, from host records alone."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from rekindle.gpus.visibility import assume_driver, explain_losses, has_trace
from rekindle.host import folders
from rekindle.records import HostRecord, PlannedEnvironment, PlanRecord, format_time, read_record
from rekindle.records.plan import FRAMEWORKS, Framework, name_runtime
from rekindle.records.text import clean_line
from rekindle.report.plan import list_plan_lines
from rekindle.solver import solve_plan
from rekindle.solver.agreement import Agreement, solve_together
from rekindle.solver.catalogue import list_environments, load_rules
from rekindle.solver.choice import Request

from .record_paths import find_records, is_results
from .verb import NEWEST, OK, UNKNOWN, Answer, Json, Verb, print_answer

_DRIVER = re.compile(r"driver=([0-9]{1,5}(?:\.[0-9]{1,5}){0,3})")


def _environment(name: str) -> str:
    known = list_environments()
    if name not in known:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}")
    return name


def _driver(text: str) -> str:
    match = _DRIVER.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a driver; write one as driver=580 or driver=580.95.05")
    return match[1]


def run(
    hosts: Annotated[
        list[Path],
        typer.Argument(
            metavar="[HOST.json]...",
            help="A record, or a folder of results with it, the newest by default; several share one build "
            "if any fits all.",
            default_factory=lambda: [NEWEST],
            show_default=False,
        ),
    ],
    framework: Annotated[
        str | None,
        typer.Option(help="Plan only this one, such as torch or torch+vision.", parser=_environment),
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(
            "--what-if",
            metavar="driver=VERSION",
            help="Show what that driver would change; --json prints both plans.",
            parser=_driver,
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Print the plan for each host record; a host without a trace of a GPU gets the CPU builds.

    Raises:
        RecordError: there is no host.json.
    """
    wanted = (framework,) if framework else FRAMEWORKS
    paths = [path for source in hosts for path in find_records(source, folders.HOST_RECORD)]
    found = _apart([(path, read_record(path, HostRecord)) for path in paths])
    several = len(hosts) > 1 or is_results(hosts[0])
    plans = [_plan(host, wanted) for host in found]
    if what_if is not None:
        then = [_plan(assume_driver(host, what_if), wanted) for host in found]
        changes = zip(found, plans, then, strict=True)
        lines = [line for change in changes for line in _change(*change, what_if)]
        plans = [plan for pair in zip(plans, then, strict=True) for plan in pair]
        several, planned = True, then
    elif len(hosts) > 1:
        usual = load_rules().nvflare.version
        shared = {
            name: solve_together([Request(name, host, has_trace(host), usual) for host in found])
            for name in wanted
        }
        lines = [line for name, grouping in shared.items() for line in _shared(name, grouping, plans)]
        plans = [_plan(host, wanted, _pins(shared, plan)) for host, plan in zip(found, plans, strict=True)]
        planned = plans
    else:
        lines, planned = [], plans
        for plan in plans:
            lines += [f"{plan.host}:"] if several else []
            lines += [line for environment in plan.environments for line in list_plan_lines(environment)]
    built = all(environment.build for plan in planned for environment in plan.environments)
    text = "\n".join(map(clean_line, lines))
    return print_answer(OK if built else UNKNOWN, text, plans if several else plans[0], json)


VERB = Verb(
    "plan",
    run,
    PlanRecord | list[PlanRecord],
    (
        "results/RUN/HOST/host.json",
        "results/RUN/HOST --framework torch",
        "results/RUN --json",
        "results/RUN/HOST --what-if driver=580",
        "results/RUN/*/host.json",
    ),
    "there is a build of every framework",
    unknown="a framework is refused, or a record is of another version of Rekindle",
)


def _apart(host_records: list[tuple[Path, HostRecord]]) -> list[HostRecord]:
    names = Counter(host.host for _, host in host_records)
    return [
        replace(host, host=f"{host.host} of {path}") if names[host.host] > 1 else host
        for path, host in host_records
    ]


def _plan(host: HostRecord, wanted: tuple[Framework, ...], pins: Mapping[str, str] = {}) -> PlanRecord:
    return solve_plan(host, wanted, gpus_required=has_trace(host), pins=pins, made=format_time())


def _change(host: HostRecord, now: PlanRecord, then: PlanRecord, version: str) -> Iterator[str]:
    here = host.driver.version if host.driver else "none"
    yield f"{host.host} with driver {version} instead of {here}:"
    lost = explain_losses(host, version)
    yield from (f"  {loss}" for loss in lost)
    for before, after in zip(now.environments, then.environments, strict=True):
        if _build(before) == _build(after):
            yield f"  {before.framework}: {_build(before)}, as now"
        else:
            yield f"  {before.framework}: {_build(after)}; now {_build(before)}"
        if after.refusal and not lost:
            yield f"    {after.refusal}"


def _build(environment: PlannedEnvironment) -> str:
    build = environment.build
    if build is None:
        return "refused"
    return f"{build.version} ({name_runtime(build.cuda)})"


def _shared(framework: Framework, grouping: Agreement, plans: Iterable[PlanRecord]) -> Iterator[str]:
    if len(grouping.groups) == 1:
        group = grouping.groups[0]
        yield f"{framework}: {group.build.title} fits all of {', '.join(group.hosts)}"
    elif grouping.groups:
        yield f"{framework}: no build fits all hosts, {len(grouping.groups)} do"
        yield from (f"  {group.build.title}: {', '.join(group.hosts)}" for group in grouping.groups)
    else:
        yield f"{framework}: no build fits any host"
    yield from (f"  {sentence}" for sentence in grouping.held_back)
    for plan in plans:
        if plan.host in grouping.refused:
            refused = next(entry for entry in plan.environments if entry.framework == framework)
            yield f"  {plan.host} is refused: {refused.refusal}"


def _pins(shared: dict[Framework, Agreement], plan: PlanRecord) -> dict[str, str]:
    """Return the shared builds that differ from a host's own ``plan``, by framework."""
    builds = (entry.build for entry in plan.environments if entry.build)
    own = {(build.framework, f"{build.version}+{build.variant}") for build in builds}
    pins = {
        name: f"{group.build.version}+{group.build.variant}"
        for name, grouping in shared.items()
        for group in grouping.groups
        if plan.host in group.hosts
    }
    return {name: pin for name, pin in pins.items() if (name, pin) not in own}
