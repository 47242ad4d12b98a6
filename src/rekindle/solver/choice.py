# SPDX-License-Identifier: Apache-2.0
"""The choice among the builds of one framework: the newest that fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from rekindle import locks
from rekindle.gpus.models import parse_version
from rekindle.gpus.visibility import explain_none_usable, find_usable_gpus
from rekindle.records import Build, HostRecord, Python, Reason
from rekindle.records.plan import Framework

from . import axes
from .catalogue import CatalogueBuild, cut_python_minor, list_builds


@dataclass(frozen=True)
class Request:
    """One framework for one host."""

    framework: Framework
    host: HostRecord
    gpus_required: bool
    nvflare: str
    pin: str | None = None


@dataclass(frozen=True)
class Decision:
    """A build with its reasons, or no build with the reasons of the closest one."""

    build: CatalogueBuild | None
    reasons: tuple[Reason, ...]
    cure: str | None = None
    """First remedy if the host's GPUs cannot be used."""


Judged = tuple[CatalogueBuild, tuple[Reason, ...]]


def choose_build(request: Request) -> Decision:
    """Return the newest build that fits on every axis, on a Python of the host's own if one does."""
    if lacking := refuse_without_gpus(request):
        return lacking
    decisions = (_choose(request, host) for host in _in_turn(request.host))
    first = next(decisions)
    return first if first.build else next((later for later in decisions if later.build), first)


def _in_turn(host: HostRecord) -> tuple[HostRecord, ...]:
    """Return ``host`` with its own Pythons alone, and then as it is, if one can be brought."""
    own = tuple(python for python in host.pythons if python.archive is None)
    return (host,) if own == host.pythons else (replace(host, pythons=own), host)


def _choose(request: Request, host: HostRecord) -> Decision:
    with_gpus = bool(find_usable_gpus(host))
    kind, pin = _for_gpus_or_cpu(request, with_gpus), request.pin
    pinned = [build for build in kind if pin in {None, build.version, f"{build.version}+{build.variant}"}]
    message = f"{request.framework} is pinned to {pin}"
    if not pinned:
        known = ", ".join(dict.fromkeys(build.version for build in kind))
        message += f"; the builds for {'GPUs' if with_gpus else 'the CPU'} are {known}"
        return Decision(None, (Reason(axis="pin", holds=False, message=message),))
    held = (Reason(axis="pin", holds=True, message=message),) if pin is not None else ()
    judged = [(build, axes.evaluate_build(build, host)) for build in pinned]
    fitting = [(build, reasons) for build, reasons in judged if all(reason.holds for reason in reasons)]
    if fitting:
        build, reasons = fitting[0]
        return Decision(build, (*held, *_with_newer(build, reasons, judged)))
    _, reasons = min(judged, key=lambda pair: _distance(pair, host))
    return Decision(None, (*held, *reasons))


def make_entry(build: CatalogueBuild, interpreter: Python) -> Build:
    """Return the plan's entry for a build that fits, on one of the host's interpreters."""
    lock = build.lock(cut_python_minor(interpreter.version))
    return Build(
        framework=build.framework,
        version=build.version,
        variant=build.variant,
        cuda=build.cuda,
        python=interpreter.path,
        python_version=interpreter.version,
        lock=lock,
        lock_sha256=locks.digest_lock(lock) or "",
    )


def find_candidates(request: Request) -> list[CatalogueBuild]:
    """Return every build that fits, the best first; none where GPUs are required and cannot be used."""
    if refuse_without_gpus(request):
        return []
    of_kind = _for_gpus_or_cpu(request, bool(find_usable_gpus(request.host)))
    for host in _in_turn(request.host):
        if fit := [
            build for build in of_kind if all(reason.holds for reason in axes.evaluate_build(build, host))
        ]:
            return fit
    return []


def _for_gpus_or_cpu(request: Request, with_gpus: bool) -> list[CatalogueBuild]:
    """Return the builds for GPUs, or the builds for the CPU and then torch's, which suit both."""
    catalogued = list_builds(request.framework, request.nvflare)
    for_gpus = [build for build in catalogued if build.cuda]
    for_cpu = [build for build in catalogued if build.cuda is None]
    return for_gpus if with_gpus else [*for_cpu, *(build for build in for_gpus if build.lent)]


def refuse_without_gpus(request: Request) -> Decision | None:
    """Return why no build fits where GPUs are required and cannot be used; None of other requests."""
    host = request.host
    if not request.gpus_required or find_usable_gpus(host):
        return None
    why = explain_none_usable(host)
    if why is None:
        message = "this host shows no GPU, and one is required"
        return Decision(None, (Reason(axis="gpu", holds=False, message=message),))
    axis: Literal["driver", "gpu"] = "gpu" if host.driver or host.gpus else "driver"
    reason = Reason(axis=axis, holds=False, message=why.message.rstrip("."))
    return Decision(None, (reason,), why.fix.rstrip("."))


def _distance(judged: Judged, host: HostRecord) -> tuple[bool, bool, int, tuple[int, ...]]:
    """Return a sort key: first what a host's owner cannot change, then the driver."""
    build, reasons = judged
    failed = {reason.axis for reason in reasons if not reason.holds}
    driver = parse_version(axes.find_least_driver(build, host) or "0") if "driver" in failed else ()
    return "architecture" in failed, "gpu" in failed, len(failed), driver


def _with_newer(
    build: CatalogueBuild, reasons: tuple[Reason, ...], judged: Sequence[Judged]
) -> tuple[Reason, ...]:
    """Add to each axis why it excludes the newest build of this architecture, if that is another one."""
    why = next(its for candidate, its in judged if candidate.architecture == build.architecture)
    against = {reason.axis: reason.message for reason in why if not reason.holds}
    return tuple(
        Reason(axis=reason.axis, holds=True, message=f"{reason.message} (and {against[reason.axis]})")
        if reason.axis in against
        else reason
        for reason in reasons
    )
