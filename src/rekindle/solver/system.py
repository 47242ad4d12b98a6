"""A plan that reuses the torch of the host's own Python and installs only the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rekindle.records import Build, HostRecord, Python, Reason

from . import axes
from .catalogue import CatalogueBuild, builds, lock_name, lock_sha256, python_minor, rules, version_key

_CUDA = re.compile(r"\+cu(\d+)(\d)$")


@dataclass(frozen=True)
class SystemDecision:
    """The host's own torch with its reasons, or what stops it."""

    build: Build | None
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...] = ()
    refusal: str | None = None


def choose_system(host: HostRecord, *, gpus_required: bool, pin: str | None, nvflare: str) -> SystemDecision:
    """Decide whether the host's own torch can be reused."""
    with_gpus = bool(axes.usable_gpus(host))
    if gpus_required and not with_gpus:
        return _refused("gpu", "no GPU of this host answers", (), "use a host with GPUs")
    lenders = [python for python in host.pythons if python.torch and lock_sha256(_lock(python, nvflare))]
    wanted = [python for python in lenders if pin in {None, python.torch, str(python.torch).split("+")[0]}]
    if not wanted:
        found = ", ".join(
            f"{python.torch} in Python {python.version}" for python in host.pythons if python.torch
        )
        oldest, *_, newest = rules().locks.pythons
        asked = f"torch {pin}" if pin else f"torch in a Python from {oldest} to {newest}"
        says = f"no interpreter of this host has {asked}; found: {found or 'no torch at all'}"
        return _refused("system_site", says, (), "rekindle_system_site: false")
    lender = max(wanted, key=lambda python: (not python.venv, version_key(python.version)))
    known, warnings = _identify(str(lender.torch), host)
    reasons = [
        Reason(
            axis="system_site",
            holds=True,
            says=f"{lender.path} (Python {lender.version}) has torch {lender.torch}",
        )
    ]
    if with_gpus and known.cuda is None:
        says = f"the torch {lender.torch} of {lender.path} is a build for the CPU, and this host has GPUs"
        return _refused("system_site", says, tuple(reasons), "rekindle_system_site: false")
    if with_gpus:
        reasons += [axes.driver(known, host), axes.glibc(known, host)]
        if known.arch_list:
            reasons.insert(1, axes.gpu(known, host))
    failed = next((reason for reason in reasons if not reason.holds), None)
    if failed:
        kept = tuple(reason for reason in reasons if reason is not failed)
        return _refused(failed.axis, failed.says, kept, "rekindle_system_site: false")
    lock = _lock(lender, nvflare)
    build = Build(
        framework="torch",
        version=str(lender.torch),
        variant="system",
        cuda=known.cuda,
        python=lender.path,
        python_version=lender.version,
        lock=lock,
        lock_sha256=lock_sha256(lock) or "",
        system_site=True,
    )
    return SystemDecision(build, tuple(reasons), warnings)


def _lock(python: Python, nvflare: str) -> str:
    return lock_name("torch", "", "system", python_minor(python.version), nvflare)


def _identify(version: str, host: HostRecord) -> tuple[CatalogueBuild, tuple[str, ...]]:
    """Return what is known of the build ``version``, and a warning where its kernels are not."""
    base, _, local = version.partition("+")
    for build in builds("torch"):
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
        glibc=rules().locks.glibc,
        cuda=f"{cuda[1]}.{cuda[2]}" if cuda else None,
    )
    unknown = f"The catalogue does not know torch {version}: its probe will tell if every GPU has kernels"
    return build, (unknown,) if cuda else ()


def _refused(axis: str, says: str, before: tuple[Reason, ...], fix: str) -> SystemDecision:
    reason = Reason(axis=axis, holds=False, says=says)  # type: ignore[arg-type]  # every caller names an axis
    return SystemDecision(None, (*before, reason), refusal=f"{says}. Fix: {fix}.")
