"""Recorded environments, brought to today's locks."""

import hashlib
from importlib.resources import files

from msgspec.structs import replace

from rekindle.records import EnvRecord, PlanRecord, read, write


def lock_as_today(home):
    """Have plan.json and env.json name the digests that the locks have now."""

    def today(one):
        lock = files("rekindle.locks").joinpath(one.lock).read_bytes()
        return replace(one, lock_sha256=hashlib.sha256(lock).hexdigest())

    plan, env = read(home / "plan.json", PlanRecord), read(home / "env.json", EnvRecord)
    planned = tuple(replace(one, build=today(one.build)) for one in plan.environments)
    write(home / "plan.json", replace(plan, environments=planned))
    write(home / "env.json", replace(env, environments=tuple(today(one) for one in env.environments)))
