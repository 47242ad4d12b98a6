# SPDX-License-Identifier: Apache-2.0
"""What jobs require beside the lock of their environment, resolved by uv on top of its pins, which stay.

An environment with such packages is one more entry of the plan, whose name has their number and whose lock
lies beside plan.json. The same question is asked once: its answer is kept in the controller's state.
"""

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec.structs import replace
from packaging.markers import Environment as Markers
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from rekindle import locks
from rekindle.environments.indexes import make_uv_environment, mask_credentials
from rekindle.environments.lockfile import read_pins
from rekindle.gpus.models import parse_version
from rekindle.host import storage
from rekindle.host.variables import select_for_installers
from rekindle.records import Build, HostRecord, Job, PlannedEnvironment, PlanRecord
from rekindle.records.plan import name_plain
from rekindle.records.text import shorten_text
from rekindle.results import state
from rekindle.solver.catalogue import OF_ONE_TORCH, cut_python_minor

from .capsules import write_lock
from .uv import find_own_uv

_GLIBC_MINORS = (17, 28, *range(31, 41))
"""For which uv has a --python-platform."""
_LIMIT_S = 600
_WAYS = (
    "change what {job} requires, name another environment in its job.yml, "
    "or write requirements: [] there to run it without."
)


class _NoPackages(Exception):
    """uv finds none; the text is its reason, in one sentence."""


def add_packages(
    plan: PlanRecord, host: HostRecord, jobs: Iterable[Job], folder: Path, kept: Collection[str] = ()
) -> PlanRecord:
    """Return ``plan`` with the lock of each environment that has packages of jobs, or its refusal.

    Where a lock has them all, the plain environment takes its place.

    Args:
        plan: of the solver, which knows the environment's build.
        host: of the plan.
        jobs: those of the plan.
        folder: of plan.json; gets the locks.
        kept: environments whose lock a capsule has.

    Raises:
        RecordError: uv is not installed here.
    """
    jobs_by_environment = {job.packaged: job for job in jobs}
    environments: dict[str, PlannedEnvironment] = {}
    for planned in plan.environments:
        name, resolved = planned.framework, planned
        if planned.build and name != name_plain(name) and name not in kept:
            resolved = _resolved(planned, planned.build, host, jobs_by_environment[name], folder)
        environments.setdefault(resolved.framework, resolved)
    return replace(plan, environments=tuple(environments.values()))


def _resolved(
    planned: PlannedEnvironment, build: Build, host: HostRecord, job: Job, folder: Path
) -> PlannedEnvironment:
    name, lock = name_plain(planned.framework), name_plain(build.lock)
    have = _versions(lock, build, host)
    asked = [Requirement(text) for text in job.requirements or ()]
    asked = [one for one in asked if one.marker is None or one.marker.evaluate(_markers(build, host))]
    if wrong := [one for one in asked if one.name in have and not _holds(one, have[one.name])]:
        message = (
            f"{job.name} requires {' and '.join(map(str, wrong))}, and the lock of {name} has "
            f"{' and '.join(f'{one.name} {have[one.name]}' for one in wrong)}"
        )
        return _refused(planned, message, job)
    further = [str(one) for one in asked if one.name not in have or one.extras]
    try:
        added = _added(further, lock, build, host) if further else ""
    except _NoPackages as error:
        message = f"What {job.name} requires cannot be installed beside the lock of {name}: {error}"
        return _refused(planned, message, job)
    if not added:
        build = replace(build, framework=name, lock=lock, lock_sha256=locks.digest_lock(lock) or "")
        return replace(planned, framework=name, build=build)
    text = f"{locks.read_lock(lock)}# Beside them, for {', '.join(further)}:\n{added}"
    write_lock(folder, build.lock, text)
    return replace(planned, build=replace(build, lock_sha256=hashlib.sha256(text.encode()).hexdigest()))


def _refused(planned: PlannedEnvironment, message: str, job: Job) -> PlannedEnvironment:
    return replace(planned, build=None, refusal=f"{message}. Fix: {_WAYS.format(job=job.name)}")


def _versions(lock: str, build: Build, host: HostRecord) -> dict[str, str]:
    """Return what the environment has without its job's packages: of the lock, and what the host lends."""
    lender = next(python for python in host.pythons if python.path == build.python)
    lent = {"torch": lender.torch, "torchvision": lender.torchvision} if build.system_site else {}
    locked = {pin.name: pin.version for pin in read_pins(locks.read_lock(lock), host.os.architecture)}
    return {**{name: version for name, version in lent.items() if version}, **locked}


def _holds(requirement: Requirement, version: str) -> bool:
    try:
        return requirement.url is None and requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:  # a host's own
        return False


def _markers(build: Build, host: HostRecord) -> dict[str, str]:
    there = Markers(
        **{
            **default_environment(),
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": host.os.architecture,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": build.python_version,
            "python_version": cut_python_minor(build.python_version),
            "sys_platform": "linux",
        }
    )
    return {name: str(value) for name, value in there.items()}


def _added(requirements: list[str], lock: str, build: Build, host: HostRecord) -> str:
    """Return the pins, with their digests, of what ``requirements`` add to a lock; empty if nothing.

    Raises:
        _NoPackages: there are no such packages beside the lock's.
    """
    arch, minor = host.os.architecture, cut_python_minor(build.python_version)
    glibc = parse_version(host.os.glibc or "2.17")
    known = max(number for number in _GLIBC_MINORS if number == _GLIBC_MINORS[0] or (2, number) <= glibc)
    options = [f"--python-version={minor}", f"--python-platform={arch}-manylinux_2_{known}"]
    question = [requirements, locks.digest_lock(lock), options, build.system_site]
    folder = state.make_state_folder("packages")
    kept = folder / hashlib.sha256(json.dumps(question).encode()).hexdigest()
    with storage.lock_folder(folder):  # hosts of one kind ask at once
        if not kept.exists():
            base = {pin.name: pin.version for pin in read_pins(locks.read_lock(lock), arch)}
            environ = select_for_installers(make_uv_environment(os.environ))
            found = _compiled(requirements, base, options, build, environ)
            if any("+cpu" in pin for pin in found) and not any(
                "+cpu" in version for version in base.values()
            ):
                del environ["UV_FIND_LINKS"]  # where builds for the CPU lie
                found = _compiled(requirements, base, options, build, environ)
            storage.write_file(kept, "".join(found).encode())
    return kept.read_text(encoding="utf-8")


def _compiled(
    requirements: list[str], base: dict[str, str], options: list[str], build: Build, environ: dict[str, str]
) -> list[str]:
    """Return what uv adds to ``base``: pins with digests, each in the lines that a lock has."""
    with tempfile.TemporaryDirectory() as folder:
        constraints, lent = Path(folder, "lock.txt"), Path(folder, "lent.txt")
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in base.items()))
        lent.write_text("".join(f"{name}\n" for name in OF_ONE_TORCH if build.system_site))
        command = [
            str(find_own_uv()),
            "pip",
            "compile",
            "-",
            "--quiet",
            "--no-build",  # whoever only looks at a job runs no code of its packages
            "--no-config",
            "--no-python-downloads",
        ]
        command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--generate-hashes", *options]
        command += [f"--constraints={constraints}", f"--excludes={lent}"]
        try:
            done = subprocess.run(
                command,
                input="\n".join(requirements),
                env=environ,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _NoPackages(f"uv has not answered within {_LIMIT_S} s") from None
    if done.returncode != 0:
        raise _NoPackages(_reason(done.stderr))
    # A platform's own resolution has no markers.
    found = read_pins(done.stdout, "")
    return [f"{pin.requirement}\n" for pin in found if canonicalize_name(pin.name) not in base]


def _reason(text: str) -> str:
    """Return why uv found nothing, as the end of a sentence of ours."""
    said = " ".join(mask_credentials(text).split())
    _, because, reason = said.partition("Because ")
    reason = f"because {reason}" if because else said.removeprefix("error: ")
    return shorten_text(reason.partition(" hint: ")[0].replace(". And ", ", and ").rstrip("."), 600)
