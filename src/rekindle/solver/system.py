# SPDX-License-Identifier: Apache-2.0
"""A plan that reuses the torch of the host's own Python and installs only the rest."""

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from rekindle.gpus.models import choose_python, parse_version
from rekindle.gpus.visibility import find_usable_gpus
from rekindle.records import HostRecord, PlannedEnvironment, Python, Reason

from . import axes
from .catalogue import CatalogueBuild, adapt_to_own_torch, cut_python_minor, list_builds, load_rules
from .choice import Request, make_entry, refuse_without_gpus

_CUDA = re.compile(r"\+cu(\d+)(\d)$")


def find_torch_build(request: Request) -> CatalogueBuild | None:
    """Return the newest build of the framework, if it is on torch and built for this host."""
    catalogued = list_builds(request.framework, request.nvflare)
    newest = next((build for build in catalogued if build.architecture == request.host.os.architecture), None)
    return newest if newest and newest.lent else None


def choose_system(request: Request, newest: CatalogueBuild) -> PlannedEnvironment:
    """Decide whether the host's own torch can be reused.

    Args:
        request: the framework and the host.
        newest: its build by `find_torch_build`.
    """
    host = request.host
    with_gpus = bool(find_usable_gpus(host))
    if lacking := refuse_without_gpus(request):
        return _refused(request, lacking.reasons[0], fix=lacking.cure or "use a host with GPUs")
    lender = _lender(request, newest)
    if isinstance(lender, Reason):
        return _refused(request, lender)
    torch_build, warnings = _identify(str(lender.torch), host)
    warnings += axes.warn_of_venv(lender)
    catalogued, minor = list_builds(request.framework, request.nvflare), cut_python_minor(lender.version)
    same = (build for build in catalogued if build.architecture == newest.architecture)
    newest = next((build for build in same if minor in build.pythons), newest)
    lends = " and ".join(f"{name} {getattr(lender, name)}" for name in newest.lent)
    message = f"{lender.path} (Python {lender.version}) has {lends}"
    reasons = [Reason(axis="system_site", holds=True, message=message)]
    if with_gpus and torch_build.cuda is None:
        message = f"the torch {lender.torch} of {lender.path} is a build for the CPU, and this host has GPUs"
        return _refused(request, _fails("system_site", message), reasons)
    if with_gpus:
        known: tuple[axes.Axis, ...] = ("gpu",) if torch_build.arch_list else ()
        reasons += axes.evaluate_build(torch_build, host, (*known, "driver", "glibc"))
    failed = next((reason for reason in reasons if not reason.holds), None)
    if failed:
        return _refused(request, failed, [reason for reason in reasons if reason is not failed])
    version = newest.version if newest.torch else str(lender.torch)
    build = replace(
        make_entry(adapt_to_own_torch(newest), lender),
        version=version,
        cuda=torch_build.cuda,
        system_site=True,
    )
    return PlannedEnvironment(
        framework=request.framework, build=build, reasons=tuple(reasons), warnings=warnings
    )


def _lender(request: Request, newest: CatalogueBuild) -> Python | Reason:
    """Return the interpreter whose torch is used, or why there is none."""
    pin, name = request.pin, newest.name
    if newest.torch and pin not in {None, newest.version}:
        message = f"{name} is pinned to {pin}, and is {newest.version} beside the host's own torch"
        return _fails("pin", message)
    rest = adapt_to_own_torch(newest)
    minors = [minor for minor in load_rules().locks.pythons if rest.is_locked(minor)]
    needs: dict[str, Callable[[Python], bool]] = {}
    locked = f"torch in a Python from {minors[0]} to {minors[-1]}"
    needs[locked] = lambda python: cut_python_minor(python.version) in minors
    if newest.torch:
        base = list_builds(newest.framework.partition("+")[0])
        oldest = min((str(build.torch) for build in base), key=parse_version)
        new_enough = f"torch {oldest} or newer, with which {name} is locked"
        needs[new_enough] = lambda python: parse_version(str(python.torch)) >= parse_version(oldest)
    elif pin:
        needs[f"torch {pin}"] = lambda python: pin in {python.torch, str(python.torch).partition("+")[0]}
    if "torchvision" in newest.lent:
        with_torchvision = f"torchvision beside its torch, as {name} needs it"
        needs[with_torchvision] = lambda python: python.torchvision is not None
    lenders = with_torch = [python for python in request.host.pythons if python.torch]
    for need, fits in needs.items():
        lenders = [python for python in lenders if fits(python)]
        if not lenders:
            found = [f"torch {python.torch} in {python.path} ({python.version})" for python in with_torch]
            message = (
                f"no interpreter of this host has {need}; found: {', '.join(found) or 'no torch at all'}"
            )
            return _fails("system_site", message)
    return choose_python(lenders) or lenders[0]


def _identify(version: str, host: HostRecord) -> tuple[CatalogueBuild, tuple[str, ...]]:
    """Return what is known of the build ``version``, and a warning if its kernels are not known."""
    base, _, local = version.partition("+")
    for build in list_builds("torch"):
        same = build.version == base and build.architecture == host.os.architecture
        if same and local in {"", build.variant}:
            return build, ()
    cuda = _CUDA.search(version)
    build = CatalogueBuild(
        framework="torch",
        version=version,
        variant="system",
        architecture=host.os.architecture,
        requirements=(),
        pythons=(),
        glibc=load_rules().locks.glibc,
        cuda=f"{cuda[1]}.{cuda[2]}" if cuda else None,
    )
    unknown = f"The catalogue does not know torch {version}: its probe will show if every GPU has kernels"
    return build, (unknown,) if cuda else ()


def _fails(axis: Literal["pin", "system_site"], message: str) -> Reason:
    return Reason(axis=axis, holds=False, message=message)


def _refused(
    request: Request, failed: Reason, before: Sequence[Reason] = (), fix: str = "rekindle_system_site: false"
) -> PlannedEnvironment:
    refusal = f"{failed.message}. Fix: {fix}."
    reasons = (*before, failed)
    return PlannedEnvironment(framework=request.framework, build=None, reasons=reasons, refusal=refusal)
