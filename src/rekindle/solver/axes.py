"""One function for each axis of the decision: does this build fit this host, and which figures say so."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from rekindle.gpus.models import capability, version_key
from rekindle.gpus.whole import whole
from rekindle.records import Gpu, HostRecord, Python, Reason
from rekindle.records.text import one_line

from .catalogue import CatalogueBuild, lock_sha256, python_minor, rules

_ARCHITECTURE = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)$")

Coverage = Literal["machine code", "PTX"]

_MOST = 0.5
"""Ours: below that share of machine code a first run compiles for minutes."""


class Runs(NamedTuple):
    """How GPUs of one capability run a build."""

    how: Coverage
    """Of most of its kernels."""
    architecture: str
    share: float
    """Of its kernels that are machine code for them, by size."""


def evaluate(build: CatalogueBuild, host: HostRecord) -> tuple[Reason, ...]:
    """Return what every axis says of ``build`` on ``host``."""
    return tuple(axis(build, host) for axis in (architecture, gpu, driver, nvflare, python, glibc))


def architecture(build: CatalogueBuild, host: HostRecord) -> Reason:
    """The processor's architecture is the build's."""
    here, built_for = spoken(host.os.architecture), spoken(build.architecture)
    holds, says = built_for == here, f"{build.title} is built for {built_for}"
    return Reason(axis="architecture", holds=holds, says=says if holds else f"{says}, this host is {here}")


def spoken(machine: str) -> str:
    """Return an architecture as people write it."""
    return "x86-64" if machine == "x86_64" else machine


def covers(arch_list: tuple[str, ...], capability: str) -> tuple[Coverage, str] | None:
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


def runs(build: CatalogueBuild, capability: str) -> Runs | None:
    """Return how GPUs of ``capability`` run ``build``; None if one of its libraries has no code for them."""
    parts = [(kernels.arch_list, kernels.kib) for kernels in build.kernels] or [(build.arch_list, 1)]
    covered = [(covers(arch_list, capability), size) for arch_list, size in parts]
    machine_code = [
        (coverage[1], size) for coverage, size in covered if coverage and coverage[0] == "machine code"
    ]
    ptx = [(coverage[1], size) for coverage, size in covered if coverage and coverage[0] == "PTX"]
    if len(machine_code) + len(ptx) < len(parts):
        return None
    share = sum(size for _, size in machine_code) / sum(size for _, size in parts)
    most: list[tuple[str, int]] = machine_code if share >= _MOST else ptx
    largest = max(most, key=lambda pair: pair[1])[0]
    return Runs("machine code" if share >= _MOST else "PTX", largest, share)


def gpu(build: CatalogueBuild, host: HostRecord) -> Reason:
    """Every GPU that answers has code in the build."""
    gpus = whole(host)
    if build.cuda is None or not gpus:
        return Reason(axis="gpu", holds=True, says=f"{build.title} runs without a GPU")
    unknown = next((device for device in gpus if capability_of(device) is None), None)
    if unknown:
        says = f"GPU {unknown.index} ({name_of(unknown)}) gives no compute capability"
        says += ", and its model is not known"
        return Reason(axis="gpu", holds=False, says=says)
    sentences: list[str] = []
    for kind, name in _kinds(gpus):
        kernels, failure = runs(build, kind), _unwritten(build, kind)
        if kernels is None or failure:
            says = f"{build.title} has no kernels for compute capability {kind} ({name}): "
            says += f"it is compiled for {' '.join(build.arch_list)}"
            says += f", and {failure}" if failure else ""
            return Reason(axis="gpu", holds=False, says=says)
        says = f"compute capability {kind} ({name}) runs its {kernels.how} {kernels.architecture}"
        if kernels.how == "machine code" and kernels.share < 1:
            says += f", and the PTX of {1 - kernels.share:.0%} of its kernels"
        sentences.append(says)
    return Reason(axis="gpu", holds=True, says=", ".join(sentences))


def _unwritten(build: CatalogueBuild, capability: str) -> str | None:
    """Return why a build's own compiler writes nothing for a GPU; None if it does, or there is none."""
    first_ptx = rules().ptx_targets.by_capability
    begins = first_ptx.get(capability)
    if build.emits is None or version_key(capability) < min(map(version_key, first_ptx)):
        return None
    writes = f"its compiler (XLA) writes PTX {build.emits}"
    if begins is None:
        return f"{writes}, and it is not known from which on that knows such a GPU"
    if version_key(build.emits) >= version_key(begins):
        return None
    return f"{writes}, which knows that GPU from {begins} on"


def ptx_only(build: CatalogueBuild, host: HostRecord, *, mostly: bool = True) -> list[str]:
    """Return the GPUs, as ``9.0 (NVIDIA H200)``, for which most kernels of the build are PTX, or some."""
    if build.cuda is None:
        return []
    by_kind = [(kind, runs(build, kind[0])) for kind in _kinds(whole(host))]
    return [
        f"{capability} ({name})"
        for (capability, name), how in by_kind
        if how and (how.share < _MOST if mostly else how.share < 1)
    ]


def minimum_driver(build: CatalogueBuild) -> str | None:
    """Return the oldest driver that runs the build's CUDA runtime, if it has one and that is known."""
    return rules().cuda_minimum_driver.by_major.get(build.cuda.split(".")[0]) if build.cuda else None


def least_driver(build: CatalogueBuild, host: HostRecord) -> str | None:
    """Return the oldest driver that runs the build on the host's GPUs, some of which may need its PTX."""
    needed = minimum_driver(build)
    if needed is None or build.toolkit is None or not ptx_only(build, host, mostly=False):
        return needed
    toolkit, known = version_key(build.toolkit), rules().driver_cuda.by_driver.items()
    loads = [since for since, cuda in known if version_key(cuda) >= toolkit]
    return max(needed, min(loads, key=version_key, default=needed), key=version_key)


def driver_cuda(host: HostRecord) -> str | None:
    """Return the newest CUDA that the host's driver knows."""
    if host.driver is None:
        return None
    if host.driver.cuda:
        return host.driver.cuda
    here = version_key(host.driver.version)
    known = rules().driver_cuda.by_driver.items()
    return max((cuda for since, cuda in known if version_key(since) <= here), key=version_key, default=None)


def driver_need(build: CatalogueBuild, host: HostRecord) -> str:
    """Return the end of a sentence about a build: the driver that it needs, and the host's."""
    if build.cuda is None:
        return "needs no driver"
    needed, here = minimum_driver(build), host.driver.version if host.driver else "none loaded"
    if needed is None:
        return f"needs a driver for CUDA {build.cuda}, which its probe will tell: this host has {here}"
    return f"needs driver ≥ {needed}, this host has {here}"


def driver(build: CatalogueBuild, host: HostRecord) -> Reason:
    """The driver runs the build's CUDA runtime, and loads its PTX where that is all there is."""
    needed, says = minimum_driver(build), f"{build.title} {driver_need(build, host)}"
    if build.cuda is None or not whole(host):
        says = f"{build.title} needs no driver" + (" where no GPU is used" if build.cuda else "")
        return Reason(axis="driver", holds=True, says=says)
    if needed is None:
        return Reason(axis="driver", holds=True, says=says)
    if host.driver is None or version_key(host.driver.version) < version_key(needed):
        return Reason(axis="driver", holds=False, says=says)
    compiled = ptx_only(build, host, mostly=False)
    if compiled and build.toolkit:
        newest = driver_cuda(host)
        if newest is None or version_key(newest) < version_key(build.toolkit):
            part = "" if ptx_only(build, host) else " of a part of its kernels"
            says = f"{build.title} has only PTX{part} of CUDA {build.toolkit} for compute capability "
            says += f"{compiled[0]}, "
            says += f"and driver {host.driver.version} loads PTX up to CUDA {newest or 'unknown'}"
            says += f": driver {least_driver(build, host)} is the first that loads it"
            return Reason(axis="driver", holds=False, says=says)
    return Reason(axis="driver", holds=True, says=says)


def nvflare(build: CatalogueBuild, host: HostRecord) -> Reason:
    """NVFlare itself supports a Python of the host."""
    rule = rules().nvflare.releases[build.nvflare]
    holds = any(python_minor(python.version) in rule.pythons for python in host.pythons)
    says = f"NVFlare {build.nvflare} supports Python {rule.pythons[0]} to {rule.pythons[-1]}"
    return Reason(axis="nvflare", holds=holds, says=says if holds else f"{says}, {_has(host)}")


def python_for(build: CatalogueBuild, host: HostRecord) -> Python | None:
    """Return the interpreter for the build: one outside of a virtual environment first, then the newest."""
    supported = set(rules().nvflare.releases[build.nvflare].pythons) & set(build.pythons)
    allowed = {minor for minor in supported if lock_sha256(build.lock(minor))}
    fit = [python for python in host.pythons if python_minor(python.version) in allowed]
    return max(fit, key=lambda python: (not python.venv, version_key(python.version)), default=None)


def of_a_venv(interpreter: Python) -> tuple[str, ...]:
    """Warn where an environment would stand on somebody's virtual environment; nothing where it does not."""
    if not interpreter.venv:
        return ()
    minor = python_minor(interpreter.version)
    return (
        f"This stands on {interpreter.path}, of somebody's virtual environment, and ends when that is "
        f"changed or removed; Python {minor} outside of one would do without",
    )


def python(build: CatalogueBuild, host: HostRecord) -> Reason:
    """There is a lock of the build for a Python of the host."""
    interpreter = python_for(build, host)
    if interpreter:
        return Reason(
            axis="python", holds=True, says=f"{build.title} is locked for Python {interpreter.version}"
        )
    locked = [minor for minor in build.pythons if lock_sha256(build.lock(minor))]
    says = f"{build.title} is locked for Python {', '.join(locked) or 'none'}, {_has(host)}"
    return Reason(axis="python", holds=False, says=says)


def glibc(build: CatalogueBuild, host: HostRecord) -> Reason:
    """The C library is new enough for the build and for the rest of its lock."""
    needed = max(build.glibc, rules().locks.glibc, key=version_key)
    here = host.os.glibc
    holds = here is not None and version_key(here) >= version_key(needed)
    says = f"{build.title} needs glibc ≥ {needed}, this host has {here or 'none'}"
    return Reason(axis="glibc", holds=holds, says=says)


def _has(host: HostRecord) -> str:
    return f"this host has {', '.join(python.version for python in host.pythons) or 'none'}"


def _kinds(gpus: list[Gpu]) -> list[tuple[str, str]]:
    """Return each compute capability once, with the name of its first GPU."""
    kinds: dict[str, str] = {}
    for device in gpus:
        if known := capability_of(device):
            kinds.setdefault(known, name_of(device))
    return list(kinds.items())


def capability_of(gpu: Gpu) -> str | None:
    """Return its compute capability, as the driver says it or as it is known of the model."""
    return capability(gpu.name, gpu.compute_capability, gpu.device)


def name_of(gpu: Gpu) -> str:
    """Return its name in one line."""
    return one_line(gpu.name or "unnamed")
