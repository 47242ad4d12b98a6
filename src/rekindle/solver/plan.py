# SPDX-License-Identifier: Apache-2.0
"""The plan of one host: a decision for each requested framework."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rekindle.gpus.visibility import explain_hidden, explain_none_usable, find_usable_gpus, refuse_mig
from rekindle.records import HostRecord, PlannedEnvironment, PlanRecord
from rekindle.records.plan import Framework

from . import axes
from .catalogue import load_rules
from .choice import Request, choose_build, make_entry
from .refusal import make_refusal
from .system import choose_system, find_torch_build


def solve_plan(  # noqa: PLR0913 - each is a part of the question
    host: HostRecord,
    frameworks: Sequence[Framework],
    *,
    gpus_required: bool,
    pins: Mapping[str, str] = {},
    system_site: bool = False,
    nvflare: str | None = None,
    jobs: Sequence[str] = (),
    made: str,
) -> PlanRecord:
    """Plan ``frameworks`` for ``host``.

    Args:
        host: what preflight found.
        frameworks: each gets its own environment.
        gpus_required: whether a host without a GPU is refused, instead of getting the CPU build.
        pins: framework → required version.
        system_site: whether frameworks on torch use the host's own torch and torchvision; others are
            installed as always.
        nvflare: release that every environment gets; None for the usual one.
        jobs: copied to the record.
        made: UTC time of the decision.
    """
    release = nvflare or load_rules().nvflare.version
    environments = []
    for framework in frameworks:
        pin = pins.get(framework, pins.get(framework.partition("+")[0]))  # it holds for extensions too
        request = Request(framework, host, gpus_required, release, pin)
        newest = find_torch_build(request) if system_site else None
        planned = choose_system(request, newest) if newest else _catalogued(request)
        warnings = (*_unusable(host), *planned.warnings) if planned.build else planned.warnings
        environments.append(replace(planned, warnings=warnings))
    return PlanRecord(
        host=host.host,
        made=made,
        nvflare=release,
        environments=tuple(environments),
        jobs=tuple(jobs),
    )


def _catalogued(request: Request) -> PlannedEnvironment:
    decision = choose_build(request)
    build, framework, reasons = decision.build, request.framework, decision.reasons
    interpreter = axes.choose_build_python(build, request.host) if build else None
    if build is None or interpreter is None:
        why = make_refusal(request, decision)
        return PlannedEnvironment(framework=framework, build=None, reasons=reasons, refusal=why)
    warnings = axes.warn_of_venv(interpreter)
    if build.cuda and not find_usable_gpus(request.host):
        warnings = (
            f"{build.title} brings CUDA's libraries, gigabytes that this host has no use for",
            *warnings,
        )
    if compiled := axes.find_ptx_only(build, request.host):
        message = f"{build.title} has only PTX for {', '.join(compiled)}: its first run compiles for minutes"
        warnings = (message, *warnings)
    return PlannedEnvironment(
        framework=framework,
        build=make_entry(build, interpreter),
        reasons=reasons,
        warnings=warnings,
        first_compile=bool(compiled),
    )


def _unusable(host: HostRecord) -> tuple[str, ...]:
    why = explain_none_usable(host)
    if why:
        return (f"This is planned for the CPU. {why}",)
    left_out = [
        f"GPU {gpu.index} is not planned for: {gpu.message or gpu.state}"
        if gpu.state != "ok"
        else f"Not planned for: {refuse_mig(gpu)}"
        for gpu in host.gpus
        if gpu.state != "ok" or gpu.mig
    ]
    hiding = explain_hidden(host)
    return (*left_out, *([str(hiding)] if hiding else []))
