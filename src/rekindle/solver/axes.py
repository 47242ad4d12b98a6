"""One function for each axis of the decision: does this build fit this host, and which figures say so."""

from __future__ import annotations

import re
from typing import Literal

from rekindle.records import Gpu, HostRecord, Python, Reason

from .catalogue import CatalogueBuild, lock_sha256, python_minor, rules, version_key

_ARCHITECTURE = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)$")

Coverage = Literal["machine code", "PTX"]


def usable_gpus(host: HostRecord) -> list[Gpu]:
    """Return the GPUs that answer."""
    return [gpu for gpu in host.gpus if gpu.state == "ok"]


def evaluate(build: CatalogueBuild, host: HostRecord) -> tuple[Reason, ...]:
    """Return what every axis says of ``build`` on ``host``."""
    return tuple(axis(build, host) for axis in (architecture, gpu, driver, nvflare, python, glibc))


def architecture(build: CatalogueBuild, host: HostRecord) -> Reason:
    """The processor's architecture is the build's."""
    here = host.os.architecture
    if build.architecture == here:
        return Reason(axis="architecture", holds=True, says=f"{build.title} is built for {here}")
    says = f"{build.title} is built for {build.architecture}, this host is {here}"
    return Reason(axis="architecture", holds=False, says=says)


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


def gpu(build: CatalogueBuild, host: HostRecord) -> Reason:
    """Every GPU that answers has code in the build."""
    gpus = usable_gpus(host)
    if build.cuda is None:
        return Reason(axis="gpu", holds=True, says=f"{build.title} runs without a GPU")
    unknown = [gpu for gpu in gpus if gpu.compute_capability is None]
    if unknown:
        says = f"GPU {unknown[0].index} ({unknown[0].name}) gives no compute capability"
        return Reason(axis="gpu", holds=False, says=says)
    said: list[str] = []
    for capability, name in _kinds(gpus):
        found = covers(build.arch_list, capability)
        failure = build.fails_on.get(capability.split(".")[0])
        if found is None or (found[0] == "PTX" and failure):
            says = f"{build.title} has no kernels for compute capability {capability} ({name}): "
            says += f"it is compiled for {' '.join(build.arch_list)}" + (
                f", and {failure}" if failure else ""
            )
            return Reason(axis="gpu", holds=False, says=says)
        said.append(f"compute capability {capability} ({name}) runs its {found[0]} {found[1]}")
    return Reason(axis="gpu", holds=True, says=", ".join(said))


def ptx_only(build: CatalogueBuild, host: HostRecord) -> list[str]:
    """Return the GPUs, as ``9.0 (NVIDIA H200)``, for which the build has PTX and no machine code."""
    kinds = _kinds([gpu for gpu in usable_gpus(host) if gpu.compute_capability])
    found = [(kind, covers(build.arch_list, kind[0])) for kind in kinds]
    return [f"{capability} ({name})" for (capability, name), how in found if how and how[0] == "PTX"]


def minimum_driver(build: CatalogueBuild) -> str | None:
    """Return the oldest driver that runs the build's CUDA runtime."""
    return rules().cuda_minimum_driver.by_major[build.cuda.split(".")[0]] if build.cuda else None


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
    needed = minimum_driver(build)
    here = host.driver.version if host.driver else "none loaded"
    return f"needs driver ≥ {needed}, this host has {here}" if needed else "needs no driver"


def driver(build: CatalogueBuild, host: HostRecord) -> Reason:
    """The driver runs the build's CUDA runtime, and loads its PTX where that is all there is."""
    needed, says = minimum_driver(build), f"{build.title} {driver_need(build, host)}"
    if needed is None:
        return Reason(axis="driver", holds=True, says=says)
    if host.driver is None:
        return Reason(axis="driver", holds=False, says=says)
    here = host.driver.version
    if version_key(here) < version_key(needed):
        return Reason(axis="driver", holds=False, says=says)
    compiled = ptx_only(build, host)
    if compiled and build.toolkit:
        newest = driver_cuda(host)
        if newest is None or version_key(newest) < version_key(build.toolkit):
            says = (
                f"{build.title} has only PTX of CUDA {build.toolkit} for compute capability {compiled[0]}, "
            )
            says += f"and driver {here} loads PTX up to CUDA {newest or 'unknown'}"
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


def python(build: CatalogueBuild, host: HostRecord) -> Reason:
    """There is a lock of the build for a Python of the host."""
    found = python_for(build, host)
    if found:
        return Reason(axis="python", holds=True, says=f"{build.title} is locked for Python {found.version}")
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
    for gpu in gpus:
        if gpu.compute_capability:
            kinds.setdefault(gpu.compute_capability, gpu.name or "unnamed")
    return list(kinds.items())
