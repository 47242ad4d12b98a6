# SPDX-License-Identifier: Apache-2.0
"""The sentence of a refusal: the reasons, and every change to the host that was tried and helps."""

import dataclasses
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce

from msgspec.structs import replace

from rekindle.gpus.models import version_key
from rekindle.gpus.usable import OLDEST_DRIVER, expected, least_driver, usable_gpus
from rekindle.records import Driver, Python
from rekindle.records.plan import FRAMEWORKS, Framework

from . import axes
from .catalogue import builds, python_minor, rules
from .choose import Decision, Request, choose


@dataclass(frozen=True)
class Change:
    """A possible change to the host or the inventory."""

    message: str
    apply: Callable[[Request], Request]


def refusal(request: Request, decision: Decision) -> str:
    """Return one sentence for the failures and one with every way out."""
    what = "; ".join(reason.message for reason in decision.reasons if not reason.holds)
    ways = ["; ".join([decision.cure, *_once_gpus_show(request)])] if decision.cure else ways_out(request)
    fix = "; or ".join(ways) if ways else f"use another host; {_reach(request.framework)}"
    return f"{what}. Fix: {fix}."


def ways_out(request: Request) -> list[str]:
    """Return the smallest sets of changes after which a build fits, and other frameworks that fit now."""
    kinds = [kind for kind in (_drivers(request), _pythons(request), *_other_changes(request)) if kind]
    ways: list[str] = []
    for size in range(1, len(kinds) + 1):
        for chosen in itertools.combinations(kinds, size):
            fitting: dict[str, str] = {}
            for changes in itertools.product(*chosen):
                changed = reduce(lambda so_far, change: change.apply(so_far), changes, request)
                if build := choose(changed).build:
                    fitting.setdefault(build.title, " and ".join(change.message for change in changes))
            ways += [f"with {message}, {title} fits" for title, message in fitting.items()]
        if ways:
            break
    return [*ways, *_machines(request), *_with_capability(request), *_other_frameworks(request)]


def _once_gpus_show(request: Request) -> list[str]:
    """Return what fits with the smallest driver that shows the GPUs on the bus and runs a build."""
    host, seen = request.host, expected(request.host)
    if host.gpus or not seen or len(seen) < len(host.pci_devices):
        return []
    least, here = least_driver(host), host.driver
    for version in sorted({least, *_known_drivers()}, key=version_key):
        driver = Driver(version=version, source="nvidia-smi", cuda=None)
        build = choose(_replace_host(request, driver=driver, gpus=seen)).build
        if build and version_key(version) >= version_key(least):
            if here and version_key(here.version) >= version_key(version):
                return []
            return [f"with driver ≥ {version}, {build.title} fits"]
    return []


def _machines(request: Request) -> list[str]:
    fit = [
        axes.common_name(machine)
        for machine in ("x86_64", "aarch64")
        if machine != request.host.os.architecture
        and choose(_replace_host(request, os=replace(request.host.os, architecture=machine))).build
    ]
    return [f"use a host whose processor is {' or '.join(fit)}"] if fit else []


def _with_capability(request: Request) -> list[str]:
    """Return the driver that reports a GPU's compute capability, if its model is not known."""
    here = request.host.driver
    unknown = [gpu for gpu in usable_gpus(request.host) if axes.capability_of(gpu) is None]
    if not unknown or here is None:
        return []
    if version_key(here.version) >= version_key(OLDEST_DRIVER):
        return ["have nvidia-smi --query-gpu=compute_cap report it, and run preflight again"]
    message = f"load driver ≥ {OLDEST_DRIVER} instead of {here.version}, whose nvidia-smi reports it"
    return [f"{message}, and run preflight again"]


def _drivers(request: Request) -> list[Change]:
    here = request.host.driver
    if not usable_gpus(request.host) or here is None:
        return []
    newer = [version for version in _known_drivers() if version_key(version) > version_key(here.version)]
    return [
        Change(
            f"driver ≥ {version} instead of {here.version}",
            partial(_replace_host, driver=replace(here, version=version, cuda=None)),
        )
        for version in sorted(newer, key=version_key)
    ]


def _known_drivers() -> set[str]:
    return {*rules().cuda_minimum_driver.by.values(), *rules().driver_cuda.by}


def _pythons(request: Request) -> list[Change]:
    here = request.host.pythons
    present = {python_minor(python.version) for python in here}
    return [
        Change(
            f"Python {minor} on the host",
            partial(_replace_host, pythons=(Python(path=f"python{minor}", version=f"{minor}.0"), *here)),
        )
        for minor in reversed(rules().locks.pythons)
        if minor not in present
    ]


def _other_changes(request: Request) -> list[list[Change]]:
    host, glibc = request.host, rules().locks.glibc
    kinds: list[list[Change]] = []
    if host.os.glibc is None or version_key(host.os.glibc) < version_key(glibc):
        system = replace(host.os, glibc=glibc)
        message = f"a system with glibc ≥ {glibc}"
        kinds.append([Change(message, partial(_replace_host, os=system))])
    if request.pin is not None:
        kinds.append([Change(f"no pin to {request.pin}", partial(dataclasses.replace, pin=None))])
    gpus = usable_gpus(host)
    capabilities = dict.fromkeys(map(axes.capability_of, gpus))
    if len(capabilities) > 1:
        kinds.append([_without(request, capability) for capability in capabilities])
    if not gpus and request.gpus_required:
        message = "rekindle_gpus_required: false"
        kinds.append([Change(message, partial(dataclasses.replace, gpus_required=False))])
    return kinds


def _without(request: Request, capability: str | None) -> Change:
    out = [gpu for gpu in request.host.gpus if axes.capability_of(gpu) == capability]
    kept = tuple(gpu for gpu in request.host.gpus if gpu not in out)
    names = ", ".join(f"{gpu.index} ({axes.name_of(gpu)})" for gpu in out)
    return Change(f"GPU {names} left out", partial(_replace_host, gpus=kept))


def _other_frameworks(request: Request) -> list[str]:
    others = (framework for framework in FRAMEWORKS if framework != request.framework)
    requests = (dataclasses.replace(request, framework=framework, pin=None) for framework in others)
    return [
        f"{build.title} fits; it {axes.driver_need(build, request.host)}"
        for other in (requests if "+" not in request.framework else ())
        if (build := choose(other).build) and not axes.ptx_only(build, request.host)
    ]


def _reach(framework: Framework) -> str:
    newest = builds(framework)[0]
    names = {name for build in builds(framework) for name in build.arch_list}
    ordered = sorted(names, key=lambda name: (name.partition("_")[0], int(re.sub(r"\D", "", name))))
    return f"builds of {newest.name} know {', '.join(ordered)}"


def _replace_host(request: Request, **changes: object) -> Request:
    return dataclasses.replace(request, host=replace(request.host, **changes))
