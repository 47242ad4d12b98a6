# SPDX-License-Identifier: Apache-2.0
"""The sentence of a refusal: the reasons, and every change to the host that was tried and helps."""

import dataclasses
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce

from msgspec.structs import replace

from rekindle.gpus.models import parse_version
from rekindle.gpus.visibility import OLDEST_DRIVER, expect_gpus, find_first_driver_of_all, find_usable_gpus
from rekindle.records import Driver, Python
from rekindle.records.plan import FRAMEWORKS, Framework

from . import axes
from .catalogue import cut_python_minor, list_builds, load_rules
from .choice import Decision, Request, choose_build


@dataclass(frozen=True)
class Change:
    """A possible change to the host or the inventory."""

    message: str
    apply: Callable[[Request], Request]


def make_refusal(request: Request, decision: Decision) -> str:
    """Return one sentence for the failures and one with every way out."""
    what = "; ".join(reason.message for reason in decision.reasons if not reason.holds)
    ways = (
        ["; ".join([decision.cure, *_once_gpus_show(request)])] if decision.cure else find_ways_out(request)
    )
    fix = "; or ".join(ways) if ways else f"use another host; {_reach(request.framework)}"
    return f"{what}. Fix: {fix}."


def find_ways_out(request: Request) -> list[str]:
    """Return the smallest sets of changes after which a build fits, and other frameworks that fit now."""
    kinds = [kind for kind in (_drivers(request), _pythons(request), *_other_changes(request)) if kind]
    ways: list[str] = []
    for size in range(1, len(kinds) + 1):
        for chosen in itertools.combinations(kinds, size):
            fitting: dict[str, str] = {}
            for changes in itertools.product(*chosen):
                changed = reduce(lambda so_far, change: change.apply(so_far), changes, request)
                if build := choose_build(changed).build:
                    fitting.setdefault(build.title, " and ".join(change.message for change in changes))
            ways += [f"with {message}, {title} fits" for title, message in fitting.items()]
        if ways:
            break
    return [*ways, *_machines(request), *_with_capability(request), *_other_frameworks(request)]


def _once_gpus_show(request: Request) -> list[str]:
    """Return what fits with the smallest driver that shows the GPUs on the bus and runs a build."""
    host, seen = request.host, expect_gpus(request.host)
    if host.gpus or not seen or len(seen) < len(host.pci_devices):
        return []
    least, here = find_first_driver_of_all(host), host.driver
    for version in sorted({least, *_known_drivers()}, key=parse_version):
        driver = Driver(version=version, source="nvidia-smi", cuda=None)
        build = choose_build(_replace_host(request, driver=driver, gpus=seen)).build
        if build and parse_version(version) >= parse_version(least):
            if here and parse_version(here.version) >= parse_version(version):
                return []
            return [f"with driver ≥ {version}, {build.title} fits"]
    return []


def _machines(request: Request) -> list[str]:
    fit = [
        axes.name_architecture(machine)
        for machine in ("x86_64", "aarch64")
        if machine != request.host.os.architecture
        and choose_build(_replace_host(request, os=replace(request.host.os, architecture=machine))).build
    ]
    return [f"use a host whose processor is {' or '.join(fit)}"] if fit else []


def _with_capability(request: Request) -> list[str]:
    """Return the driver that reports a GPU's compute capability, if its model is not known."""
    here = request.host.driver
    unknown = [gpu for gpu in find_usable_gpus(request.host) if axes.find_gpu_capability(gpu) is None]
    if not unknown or here is None:
        return []
    if parse_version(here.version) >= parse_version(OLDEST_DRIVER):
        return ["have nvidia-smi --query-gpu=compute_cap report it, and run preflight again"]
    message = f"load driver ≥ {OLDEST_DRIVER} instead of {here.version}, whose nvidia-smi reports it"
    return [f"{message}, and run preflight again"]


def _drivers(request: Request) -> list[Change]:
    here = request.host.driver
    if not find_usable_gpus(request.host) or here is None:
        return []
    newer = [version for version in _known_drivers() if parse_version(version) > parse_version(here.version)]
    return [
        Change(
            f"driver ≥ {version} instead of {here.version}",
            partial(_replace_host, driver=replace(here, version=version, cuda=None)),
        )
        for version in sorted(newer, key=parse_version)
    ]


def _known_drivers() -> set[str]:
    return {*load_rules().cuda_minimum_driver.by.values(), *load_rules().driver_cuda.by}


def _pythons(request: Request) -> list[Change]:
    here = request.host.pythons
    present = {cut_python_minor(python.version) for python in here}
    return [
        Change(
            f"Python {minor} on the host",
            partial(_replace_host, pythons=(Python(path=f"python{minor}", version=f"{minor}.0"), *here)),
        )
        for minor in reversed(load_rules().locks.pythons)
        if minor not in present
    ]


def _other_changes(request: Request) -> list[list[Change]]:
    host, glibc = request.host, load_rules().locks.glibc
    kinds: list[list[Change]] = []
    if host.os.glibc is None or parse_version(host.os.glibc) < parse_version(glibc):
        system = replace(host.os, glibc=glibc)
        message = f"a system with glibc ≥ {glibc}"
        kinds.append([Change(message, partial(_replace_host, os=system))])
    if request.pin is not None:
        kinds.append([Change(f"no pin to {request.pin}", partial(dataclasses.replace, pin=None))])
    gpus = find_usable_gpus(host)
    capabilities = dict.fromkeys(map(axes.find_gpu_capability, gpus))
    if len(capabilities) > 1:
        kinds.append([_without(request, capability) for capability in capabilities])
    if not gpus and request.gpus_required:
        message = "rekindle_gpus_required: false"
        kinds.append([Change(message, partial(dataclasses.replace, gpus_required=False))])
    return kinds


def _without(request: Request, capability: str | None) -> Change:
    out = [gpu for gpu in request.host.gpus if axes.find_gpu_capability(gpu) == capability]
    kept = tuple(gpu for gpu in request.host.gpus if gpu not in out)
    names = ", ".join(f"{gpu.index} ({axes.name_gpu(gpu)})" for gpu in out)
    return Change(f"GPU {names} left out", partial(_replace_host, gpus=kept))


def _other_frameworks(request: Request) -> list[str]:
    others = (framework for framework in FRAMEWORKS if framework != request.framework)
    requests = (dataclasses.replace(request, framework=framework, pin=None) for framework in others)
    return [
        f"{build.title} fits; it {axes.describe_driver_need(build, request.host)}"
        for other in (requests if "+" not in request.framework else ())
        if (build := choose_build(other).build) and not axes.find_ptx_only(build, request.host)
    ]


def _reach(framework: Framework) -> str:
    newest = list_builds(framework)[0]
    names = {name for build in list_builds(framework) for name in build.arch_list}
    ordered = sorted(names, key=lambda name: (name.partition("_")[0], int(re.sub(r"\D", "", name))))
    return f"builds of {newest.name} know {', '.join(ordered)}"


def _replace_host(request: Request, **changes: object) -> Request:
    return dataclasses.replace(request, host=replace(request.host, **changes))
