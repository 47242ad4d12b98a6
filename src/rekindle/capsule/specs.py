# SPDX-License-Identifier: Apache-2.0
"""Turns a plan into the specifications that ``build`` takes; on the controller."""

from pathlib import Path

from rekindle import locks
from rekindle.environments import Specification
from rekindle.gpus.visibility import list_visible_gpus
from rekindle.records import HostRecord, PlanRecord, RecordError
from rekindle.records.layout import host_in, plan_in

from .capsules import find_lock


def make_specs(
    plan: PlanRecord, host: HostRecord, *places: Path, offline: bool = False
) -> list[Specification]:
    """Return the driver's environment and each planned one.

    Args:
        plan: the builds.
        host: of the plan.
        places: folders with locks: of the plan, and of the env.json that is rebuilt, if one is.
        offline: whether the host installs only from a wheelhouse.

    Raises:
        RecordError: the plan has no build, or one of its locks is missing.
    """
    builds = [planned.build for planned in plan.environments if planned.build is not None]
    if not builds:
        raise RecordError(f"The plan for {plan.host} names no build.", "see the refusals in its plan.json.")
    driver: Specification = {
        "name": "driver",
        "python": builds[0].python,
        "lock": locks.DRIVER,
        "lock_sha256": locks.digest_lock(locks.DRIVER) or "",
        "lock_text": locks.read_lock(locks.DRIVER),
        "system_site": False,
        "gpus": [],
        "offline": offline,
    }
    gpus = list_visible_gpus(host)
    if host.allocation:
        gpus = [str(number) for number in range(len(gpus))]
    planned: list[Specification] = [
        {
            "name": build.framework,
            "python": build.python,
            "lock": build.lock,
            "lock_sha256": build.lock_sha256,
            "lock_text": find_lock(build.lock, build.lock_sha256, *places),
            "system_site": build.system_site,
            "gpus": gpus if build.cuda else [],
            "offline": offline,
        }
        for build in builds
    ]
    return [driver, *planned]


def read_specs(
    folder: Path, capsule: str, *, offline: bool = False
) -> tuple[HostRecord, list[Specification]]:
    """Return the host whose records are in ``folder``, and the specs of its environments."""
    host, rebuilt = host_in(folder), [Path(capsule).expanduser()] if capsule else []
    return host, make_specs(plan_in(folder), host, *rebuilt, folder, offline=offline)
