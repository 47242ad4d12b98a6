"""From a plan to the specifications that ``build`` takes; on the controller."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any

from rekindle.records import HostRecord, PlanRecord

_DRIVER_LOCK = "driver.txt"


def environment_specs(plan: PlanRecord, host: HostRecord, *, offline: bool = False) -> list[dict[str, Any]]:
    """Return the driver's environment and each planned one.

    Raises:
        ValueError: the plan refuses everything.
    """
    builds = [one.build for one in plan.environments if one.build is not None]
    if not builds:
        raise ValueError(f"The plan for {plan.host} names no build. Fix: see the refusals in its plan.json.")
    lock = files("rekindle.locks").joinpath(_DRIVER_LOCK).read_bytes()
    driver = {
        "name": "driver",
        "python": builds[0].python,
        "lock": _DRIVER_LOCK,
        "lock_sha256": hashlib.sha256(lock).hexdigest(),
        "system_site": False,
        "gpus": [],
        "offline": offline,
    }
    gpus = [gpu.uuid for gpu in host.gpus if gpu.state == "ok"]
    return [
        driver,
        *(
            {
                "name": build.framework,
                "python": build.python,
                "lock": build.lock,
                "lock_sha256": build.lock_sha256,
                "system_site": build.system_site,
                "gpus": gpus if build.cuda else [],
                "offline": offline,
            }
            for build in builds
        ),
    ]
