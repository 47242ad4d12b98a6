"""The choice among the builds of one framework: the newest that fits."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.records import Build, HostRecord, Reason
from rekindle.records.plan import Framework

from . import axes
from .catalogue import CatalogueBuild, builds, lock_sha256, python_minor


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
    """A build with its reasons, or no build with those of the one that came nearest."""

    build: CatalogueBuild | None
    reasons: tuple[Reason, ...]


def choose(request: Request) -> Decision:
    """Return the newest build of the catalogue that fits on every axis."""
    host = request.host
    with_gpus = bool(axes.usable_gpus(host))
    if not with_gpus and request.gpus_required:
        return Decision(None, (_no_gpu(host),))
    found = builds(request.framework, request.nvflare)
    if not found:
        says = f"{request.framework} is not locked with NVFlare {request.nvflare}"
        return Decision(None, (Reason(axis="nvflare", holds=False, says=says),))
    kind = [build for build in found if (build.cuda is not None) == with_gpus]
    pinned = [
        build for build in kind if request.pin in {None, build.version, f"{build.version}+{build.variant}"}
    ]
    if not pinned:
        what = f"for {'GPUs' if with_gpus else 'the CPU'}"
        known = ", ".join(dict.fromkeys(build.version for build in kind))
        says = f"{request.framework} is pinned to {request.pin}; the builds {what} are {known}"
        return Decision(None, (Reason(axis="pin", holds=False, says=says),))
    pin: tuple[Reason, ...] = ()
    if request.pin is not None:
        pin = (Reason(axis="pin", holds=True, says=f"{request.framework} is pinned to {request.pin}"),)
    judged = [(build, axes.evaluate(build, host)) for build in pinned]
    fitting = [(build, reasons) for build, reasons in judged if all(reason.holds for reason in reasons)]
    if fitting:
        build, reasons = fitting[0]
        return Decision(build, (*pin, *_with_newer(build, reasons, judged)))
    _, reasons = min(judged, key=lambda pair: _distance(pair[1]))
    return Decision(None, (*pin, *reasons))


def planned(build: CatalogueBuild, host: HostRecord) -> Build:
    """Return the plan's entry for a build that fits."""
    interpreter = axes.python_for(build, host)
    if interpreter is None:
        raise ValueError(f"{build.title} does not fit {host.host}.")
    lock = build.lock(python_minor(interpreter.version))
    return Build(
        framework=build.framework,
        version=build.version,
        variant=build.variant,
        cuda=build.cuda,
        python=interpreter.path,
        python_version=interpreter.version,
        lock=lock,
        lock_sha256=lock_sha256(lock) or "",
    )


def _no_gpu(host: HostRecord) -> Reason:
    if host.gpus:
        says = f"none of this host's {len(host.gpus)} GPUs answers: {host.gpus[0].says or host.gpus[0].state}"
        return Reason(axis="gpu", holds=False, says=says)
    if host.pci_gpus and host.driver is None:
        says = f"this host has {host.pci_gpus} NVIDIA GPUs on its PCI bus and no driver loaded"
        return Reason(axis="driver", holds=False, says=says)
    return Reason(axis="gpu", holds=False, says="this host shows no GPU, and the inventory requires one")


def _distance(reasons: tuple[Reason, ...]) -> tuple[bool, bool, int]:
    """Put first what a host's owner cannot change; ``min`` then keeps the newest of equals."""
    failed = {reason.axis for reason in reasons if not reason.holds}
    return "architecture" in failed, "gpu" in failed, len(failed)


def _with_newer(
    build: CatalogueBuild,
    reasons: tuple[Reason, ...],
    judged: list[tuple[CatalogueBuild, tuple[Reason, ...]]],
) -> tuple[Reason, ...]:
    """Add to each axis why it keeps the newest build of this architecture away."""
    same = [pair for pair in judged if pair[0].architecture == build.architecture]
    newest, why = same[0]
    if newest is build:
        return reasons
    against = {reason.axis: reason.says for reason in why if not reason.holds}
    return tuple(
        Reason(axis=reason.axis, holds=True, says=f"{reason.says} (and {against[reason.axis]})")
        if reason.axis in against
        else reason
        for reason in reasons
    )
