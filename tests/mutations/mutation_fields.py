# SPDX-License-Identifier: Apache-2.0
"""Wrong values for every field of every record and event that a run's folder has, made from the schemas."""

from msgspec import inspect
from mutation_runs import clone

from rekindle.records import Claim, GivenGpu, GpuProcess, Job, RunEnd, RunSpec, Site
from rekindle.records.events import AnyEvent, GpuSample

EVENTS = {event.__struct_config__.tag: event for event in AnyEvent.__args__}
RECORDS = {
    record.__name__: record for record in (RunSpec, Job, Claim, Site, GivenGpu, GpuProcess, RunEnd, GpuSample)
}
MISSING = object()
NUMBERS = {
    "zero": lambda value, rng: 0,
    "negative": lambda value, rng: -abs(value) or -1,
    "thousandfold": lambda value, rng: value * 1000,
    "huge": lambda value, rng: 10**15 if isinstance(value, int) else 1e90,
}
TEXTS = {
    "empty": lambda value, rng: "",
    "unknown": lambda value, rng: f"x{rng.getrandbits(32):08x}",
    "digest": lambda value, rng: f"{rng.getrandbits(256):064x}",
    "path": lambda value, rng: "../../etc/passwd",
}
LISTS = {
    "emptied": lambda value, rng: [],
    "shortened": lambda value, rng: value[:-1],
    "lengthened": lambda value, rng: [*value, clone(value[-1])] if value else value,
    "permuted": lambda value, rng: rng.sample(value, len(value)),
}
TABLES = {
    "emptied": lambda value, rng: {},
    "one less": lambda value, rng: dict(list(value.items())[1:]),
    "huge": lambda value, rng: dict.fromkeys(value, 1e90),
}
BY_TYPE = {bool: {"another": lambda value, rng: not value}, int: NUMBERS, float: NUMBERS}
BY_TYPE |= {str: TEXTS, list: LISTS, dict: TABLES}
ALWAYS = {"none": lambda value, rng: None, "missing": lambda value, rng: MISSING}


def fields():
    """Yield (name of the schema, its field) of all that a run's folder has."""
    for name, kind in {**RECORDS, **EVENTS}.items():
        for field in inspect.type_info(kind).fields:
            yield name, field


def holders(run, kind):
    """Return the tables of a run that have a schema's fields."""
    spec = run.spec
    if kind in EVENTS:
        return run.of(kind)
    return {
        "RunSpec": lambda: [spec],
        "Job": lambda: [spec["job"]],
        "Claim": lambda: spec["job"]["proof"],
        "Site": lambda: spec["sites"],
        "GivenGpu": lambda: spec.get("gpus", []),
        "GpuProcess": lambda: [used for gpu in spec.get("gpus", []) for used in gpu.get("processes", [])],
        "RunEnd": lambda: [run.ended],
        "GpuSample": lambda: [gpu for sample in run.of("sample") for gpu in sample["gpus"].values()],
    }[kind]()


def altered(run, kind, name, rng):
    """Yield the name of each way to alter a field of the run, which is altered so until the next one."""
    having = [holder for holder in holders(run, kind) if holder.get(name) is not None]
    if not having:
        return
    holder = rng.choice(having)
    value = holder[name]
    for way, change in {**BY_TYPE[type(value)], **ALWAYS}.items():
        changed = change(clone(value), rng)
        if changed is MISSING:
            del holder[name]
        else:
            holder[name] = changed
        yield way
        holder[name] = value
