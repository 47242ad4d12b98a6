# SPDX-License-Identifier: Apache-2.0
"""Recorded environments, brought to today's locks."""

import hashlib

from msgspec.structs import replace

from rekindle import locks
from rekindle.records import EnvRecord, PlanRecord, read_record, write_record


def lock_as_today(home):
    """Have plan.json and env.json name the digests that the locks have now."""

    def today(record):
        lock = locks.read_lock(record.lock).encode()
        return replace(record, lock_sha256=hashlib.sha256(lock).hexdigest())

    plan, env = read_record(home / "plan.json", PlanRecord), read_record(home / "env.json", EnvRecord)
    planned = tuple(replace(environment, build=today(environment.build)) for environment in plan.environments)
    write_record(home / "plan.json", replace(plan, environments=planned))
    write_record(home / "env.json", replace(env, environments=tuple(map(today, env.environments))))
