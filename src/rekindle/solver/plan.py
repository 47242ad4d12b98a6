# SPDX-License-Identifier: Apache-2.0
"""The plan of one host: a decision for each requested framework."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rekindle.gpus.usable import hidden, in_mig_mode, is_mig, none_usable, usable_gpus
from rekindle.records import HostRecord, PlannedEnvironment, PlanRecord
from rekindle.records.plan import Framework

from . import axes
from .catalogue import rules
from .choose import Request, choose, entry
from .refusal import refusal
from .system import choose_system, on_torch


def solve(  # noqa: PLR0913 - each is a part of the question
    host: HostRecord,
    frameworks: Sequence[Framework],
    *,
    gpus_required: bool,
    pins: Mapping[str, str] = {},
    system_site: bool = False,
    nvflare: str | None = None,
    jobs: Sequence[str] = (),
    made: str,
    host_sha256: str,
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
        host_sha256: digest of the host record's file.
    """
    release = nvflare or rules().nvflare.version
    environments = []
    for framework in frameworks:
        pin = pins.get(framework, pins.get(framework.partition("+")[0]))  # it holds for extensions too
        request = Request(framework, host, gpus_required, release, pin)
        newest = on_torch(request) if system_site else None
        planned = choose_system(request, newest) if newest else _catalogued(request)
        warnings = (*_unusable(host), *planned.warnings) if planned.build else planned.warnings
        environments.append(replace(planned, warnings=warnings))
    return PlanRecord(
        host=host.host,
        made=made,
        host_sha256=host_sha256,
        nvflare=release,
        environments=tuple(environments),
        jobs=tuple(jobs),
    )


def _catalogued(request: Request) -> PlannedEnvironment:
    decision = choose(request)
    build, framework, reasons = decision.build, request.framework, decision.reasons
    interpreter = axes.python_for(build, request.host) if build else None
    if build is None or interpreter is None:
        why = refusal(request, decision)
        return PlannedEnvironment(framework=framework, build=None, reasons=reasons, refusal=why)
    warnings = axes.of_a_venv(interpreter)
    if build.cuda and not usable_gpus(request.host):
        warnings = (
            f"{build.title} brings CUDA's libraries, gigabytes that this host has no use for",
            *warnings,
        )
    if compiled := axes.ptx_only(build, request.host):
        message = f"{build.title} has only PTX for {', '.join(compiled)}: its first run compiles for minutes"
        warnings = (message, *warnings)
    return PlannedEnvironment(
        framework=framework,
        build=entry(build, interpreter),
        reasons=reasons,
        warnings=warnings,
        first_compile=bool(compiled),
    )


def _unusable(host: HostRecord) -> tuple[str, ...]:
    why = none_usable(host)
    if why:
        return (f"This is planned for the CPU. {why}",)
    left_out = [
        f"GPU {gpu.index} is not planned for: {gpu.message or gpu.state}"
        if gpu.state != "ok"
        else f"Not planned for: {in_mig_mode(gpu)}"
        for gpu in host.gpus
        if gpu.state != "ok" or is_mig(gpu)
    ]
    hiding = hidden(host)
    return (*left_out, *([str(hiding)] if hiding else []))
