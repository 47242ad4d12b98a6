# SPDX-License-Identifier: Apache-2.0
"""One function for each axis of the decision: whether a build fits a host, and the figures for that."""

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, get_args

from rekindle.gpus.models import choose_python, find_capability, parse_version
from rekindle.gpus.visibility import find_usable_gpus
from rekindle.records import Gpu, HostRecord, Python, Reason
from rekindle.records.text import fold_line

from .catalogue import CatalogueBuild, cut_python_minor, load_rules

_ARCHITECTURE = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)$")

Coverage = Literal["machine code", "PTX"]
Axis = Literal["architecture", "gpu", "driver", "nvflare", "python", "glibc"]
AXES: tuple[Axis, ...] = get_args(Axis)
Finding = tuple[bool, str]
"""Whether a build fits a host on one axis, and the figures for that."""

_MOST = 0.5
"""Our own: with a lower share of machine code a first run compiles for minutes."""


class Runs(NamedTuple):
    """How GPUs of one capability run a build."""

    how: Coverage
    """For most of its kernels."""
    architecture: str
    share: float
    """Share of machine code in its kernels, by size."""


def evaluate_build(
    build: CatalogueBuild, host: HostRecord, axes: Iterable[Axis] = AXES
) -> tuple[Reason, ...]:
    """Return the result of each axis for ``build`` on ``host``."""
    found = ((axis, *_FUNCTIONS[axis](build, host)) for axis in axes)
    return tuple(Reason(axis=axis, holds=holds, message=message) for axis, holds, message in found)


def match_architecture(build: CatalogueBuild, host: HostRecord) -> Finding:
    """The processor's architecture is the build's."""
    here, built_for = name_architecture(host.os.architecture), name_architecture(build.architecture)
    message = f"{build.title} is built for {built_for}"
    return (True, message) if built_for == here else (False, f"{message}, this host is {here}")


def name_architecture(machine: str) -> str:
    """Return the usual name of an architecture."""
    return "x86-64" if machine == "x86_64" else machine


def cover_capability(arch_list: tuple[str, ...], capability: str) -> tuple[Coverage, str] | None:
    """Return how a GPU of ``capability`` (``9.0``) runs a build, and the architecture that it runs.

    Machine code runs on its own major version from its own minor up; PTX runs on anything newer. The suffix
    ``a`` ties both to one capability, ``f`` ties PTX to one major.
    """
    gpu = tuple(int(part) for part in capability.split("."))
    runs: list[tuple[bool, tuple[int, int], str]] = []
    for name in arch_list:
        match = _ARCHITECTURE.match(name)
        if match is None:
            continue
        machine_code, code, suffix = match[1] == "sm", (int(match[2]), int(match[3])), match[4]
        same_major = code[0] == gpu[0] or not (machine_code or suffix)
        if same_major and (code == gpu if suffix == "a" else code <= gpu):
            runs.append((machine_code, code, name))
    if not runs:
        return None
    machine_code, _, name = max(runs)
    return "machine code" if machine_code else "PTX", name


def find_coverage(build: CatalogueBuild, capability: str) -> Runs | None:
    """Return how GPUs of ``capability`` run ``build``; None if one of its libraries has no code for them."""
    parts = [(kernels.arch_list, kernels.kib) for kernels in build.kernels] or [(build.arch_list, 1)]
    sizes: dict[Coverage, list[tuple[int, str]]] = {"machine code": [], "PTX": []}
    for arch_list, size in parts:
        if (coverage := cover_capability(arch_list, capability)) is None:
            return None
        sizes[coverage[0]].append((size, coverage[1]))
    share = sum(size for size, _ in sizes["machine code"]) / sum(size for _, size in parts)
    how: Coverage = "machine code" if share >= _MOST else "PTX"
    _, largest = max(sizes[how], key=lambda part: part[0])
    return Runs(how, largest, share)


def match_gpu(build: CatalogueBuild, host: HostRecord) -> Finding:
    """Every GPU that answers has code in the build."""
    gpus = find_usable_gpus(host)
    if build.cuda is None or not gpus:
        return True, f"{build.title} runs without a GPU"
    if unknown := next((device for device in gpus if find_gpu_capability(device) is None), None):
        named = f"GPU {unknown.index} ({name_gpu(unknown)})"
        return False, f"{named} reports no compute capability, and its model is not known"
    sentences: list[str] = []
    for kind, name in _kinds(gpus):
        kernels, failure = find_coverage(build, kind), _unwritten(build, kind)
        if kernels is None or failure:
            message = f"{build.title} has no kernels for compute capability {kind} ({name}): "
            compiled = f"it is compiled for {' '.join(build.arch_list)}"
            return False, message + compiled + (f", and {failure}" if failure else "")
        message = f"compute capability {kind} ({name}) runs its {kernels.how} {kernels.architecture}"
        if kernels.how == "machine code" and kernels.share < 1:
            message += f", and the PTX of {1 - kernels.share:.0%} of its kernels"
        sentences.append(message)
    return True, ", ".join(sentences)


def _unwritten(build: CatalogueBuild, capability: str) -> str | None:
    """Return why a build's own compiler cannot compile for a GPU; None if it can, or there is none."""
    first_ptx = load_rules().ptx_targets.by
    begins = first_ptx.get(capability)
    if build.emits is None or parse_version(capability) < min(map(parse_version, first_ptx)):
        return None
    writes = f"its compiler (XLA) writes PTX {build.emits}"
    if begins is None:
        return f"{writes}, and it is not known which PTX supports such a GPU"
    if parse_version(build.emits) >= parse_version(begins):
        return None
    return f"{writes}, and that GPU needs {begins} or newer"


def find_ptx_only(build: CatalogueBuild, host: HostRecord, *, mostly: bool = True) -> list[str]:
    """Return the GPUs, as ``9.0 (NVIDIA H200)``, for which most kernels of the build are PTX, or some."""
    if build.cuda is None:
        return []
    by_kind = [(kind, find_coverage(build, kind[0])) for kind in _kinds(find_usable_gpus(host))]
    return [
        f"{capability} ({name})"
        for (capability, name), how in by_kind
        if how and (how.share < _MOST if mostly else how.share < 1)
    ]


def find_minimum_driver(build: CatalogueBuild) -> str | None:
    """Return the oldest driver that runs the build's CUDA runtime, if it has one and that is known."""
    return load_rules().cuda_minimum_driver.by.get(build.cuda.split(".")[0]) if build.cuda else None


def find_least_driver(build: CatalogueBuild, host: HostRecord) -> str | None:
    """Return the oldest driver that runs the build on the host's GPUs, some of which may need its PTX."""
    needed = find_minimum_driver(build)
    if needed is None or build.toolkit is None or not find_ptx_only(build, host, mostly=False):
        return needed
    toolkit, known = parse_version(build.toolkit), load_rules().driver_cuda.by.items()
    loads = [since for since, cuda in known if parse_version(cuda) >= toolkit]
    return max(needed, min(loads, key=parse_version, default=needed), key=parse_version)


def find_driver_cuda(host: HostRecord) -> str | None:
    """Return the newest CUDA that the host's driver knows."""
    if host.driver is None:
        return None
    if host.driver.cuda:
        return host.driver.cuda
    here = parse_version(host.driver.version)
    known = load_rules().driver_cuda.by.items()
    return max(
        (cuda for since, cuda in known if parse_version(since) <= here), key=parse_version, default=None
    )


def describe_driver_need(build: CatalogueBuild, host: HostRecord) -> str:
    """Return the end of a sentence about a build: the driver that it needs, and the host's."""
    if build.cuda is None:
        return "needs no driver"
    needed, here = find_minimum_driver(build), host.driver.version if host.driver else "none loaded"
    if needed is None:
        return f"needs a driver for CUDA {build.cuda}, which its probe will show: this host has {here}"
    return f"needs driver ≥ {needed}, this host has {here}"


def match_driver(build: CatalogueBuild, host: HostRecord) -> Finding:
    """The driver runs the build's CUDA runtime, and loads its PTX where that is all there is."""
    needed, message = find_minimum_driver(build), f"{build.title} {describe_driver_need(build, host)}"
    if build.cuda is None or not find_usable_gpus(host):
        return True, f"{build.title} needs no driver" + (" where no GPU is used" if build.cuda else "")
    if needed is None:
        return True, message
    if host.driver is None or parse_version(host.driver.version) < parse_version(needed):
        return False, message
    compiled, newest = find_ptx_only(build, host, mostly=False), find_driver_cuda(host)
    if not (compiled and build.toolkit) or (newest and parse_version(newest) >= parse_version(build.toolkit)):
        return True, message
    part = "" if find_ptx_only(build, host) else " of a part of its kernels"
    return False, (
        f"{build.title} has only PTX{part} of CUDA {build.toolkit} for compute capability {compiled[0]}, "
        f"and driver {host.driver.version} loads PTX up to CUDA {newest or 'unknown'}"
        f": driver {find_least_driver(build, host)} is the first that loads it"
    )


def match_nvflare(build: CatalogueBuild, host: HostRecord) -> Finding:
    """NVFlare itself supports a Python of the host."""
    rule = load_rules().nvflare.releases[build.nvflare]
    message = f"NVFlare {build.nvflare} supports Python {rule.pythons[0]} to {rule.pythons[-1]}"
    fits = any(cut_python_minor(python.version) in rule.pythons for python in host.pythons)
    return (True, message) if fits else (False, f"{message}, {_has(host)}")


def choose_build_python(build: CatalogueBuild, host: HostRecord) -> Python | None:
    """Return the interpreter for the build: one outside of a virtual environment first, then the newest."""
    supported = set(load_rules().nvflare.releases[build.nvflare].pythons) & set(build.pythons)
    allowed = {minor for minor in supported if build.is_locked(minor)}
    return choose_python(python for python in host.pythons if cut_python_minor(python.version) in allowed)


def warn_of_venv(interpreter: Python) -> tuple[str, ...]:
    """Return a warning if an environment would depend on somebody's virtual environment."""
    if not interpreter.venv:
        return ()
    minor = cut_python_minor(interpreter.version)
    return (
        f"This stands on {interpreter.path}, of somebody's virtual environment, and ends when that is "
        f"changed or removed; Python {minor} outside of one would do without",
    )


def match_python(build: CatalogueBuild, host: HostRecord) -> Finding:
    """There is a lock of the build for a Python of the host."""
    if interpreter := choose_build_python(build, host):
        brought = f", which the controller brings: {_has(host)}" if interpreter.archive else ""
        return True, f"{build.title} is locked for Python {interpreter.version}{brought}"
    locked = [minor for minor in build.pythons if build.is_locked(minor)]
    return False, f"{build.title} is locked for Python {', '.join(locked) or 'none'}, {_has(host)}"


def match_glibc(build: CatalogueBuild, host: HostRecord) -> Finding:
    """The C library is new enough for the build and for the rest of its lock."""
    needed, here = max(build.glibc, load_rules().locks.glibc, key=parse_version), host.os.glibc
    fits = here is not None and parse_version(here) >= parse_version(needed)
    return fits, f"{build.title} needs glibc ≥ {needed}, this host has {here or 'an unknown one'}"


_FUNCTIONS: dict[Axis, Callable[[CatalogueBuild, HostRecord], Finding]] = {
    "architecture": match_architecture,
    "gpu": match_gpu,
    "driver": match_driver,
    "nvflare": match_nvflare,
    "python": match_python,
    "glibc": match_glibc,
}


def _has(host: HostRecord) -> str:
    own = [python.version for python in host.pythons if python.archive is None]
    return f"this host has {', '.join(own) or 'none'}"


def _kinds(gpus: list[Gpu]) -> list[tuple[str, str]]:
    kinds: dict[str, str] = {}
    for device in gpus:
        if known := find_gpu_capability(device):
            kinds.setdefault(known, name_gpu(device))
    return list(kinds.items())


def find_gpu_capability(gpu: Gpu) -> str | None:
    """Return its compute capability, as reported by the driver or known for the model."""
    return find_capability(gpu.name, gpu.compute_capability, gpu.device)


def name_gpu(gpu: Gpu) -> str:
    """Return its name in one line."""
    return fold_line(gpu.name or "unnamed")
