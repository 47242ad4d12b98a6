"""Wrong values for every field of every record and event that a run's folder holds, made from the schemas.

`FIELDS` says of each way to alter each field whether what comes of it is a contradiction or cannot be told
from a right value, each with its reason. A field or a way without an entry fails the build.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import inspect
from mutation_kinds import Mutation, anywhere, pick, register
from mutation_runs import clone, recordings

from rekindle.records import Claim, Ended, GivenGpu, GpuProcess, Job, RunSpec, Site
from rekindle.records.events import AnyEvent, GpuSample

EVENTS = {event.__struct_config__.tag: event for event in AnyEvent.__args__}
RECORDS = {
    record.__name__: record for record in (RunSpec, Job, Claim, Site, GivenGpu, GpuProcess, Ended, GpuSample)
}
DIGESTS = ("model_in", "model_out", "initial", "final", "digest")
MISSING = object()

Way = Callable[[object, "Place", object], object]


@dataclass(frozen=True)
class Place:
    """Where a field stands: in a dictionary of a run, beside others of its kind."""

    run: object
    holder: dict
    field: str
    others: list


def _number(change):
    return lambda value, place, rng: change(value)


def _another(value, place, rng):
    """What the same field says in another event of the run."""
    key = place.field
    said = [other[key] for other in place.others if other.get(key) is not None and other.get(key) != value]
    return pick(rng, said)


def _another_run_s(value, place, rng):
    others = [name for name in recordings() if name != place.run.name]
    other = place.run.copy_of(pick(rng, others))
    said = [
        holder[place.field]
        for holder in holders(other, kind_of(place.holder))
        if holder.get(place.field) is not None
    ]
    return clone(pick(rng, [choice for choice in said if choice != value]))


def kind_of(holder):
    """Return the name of the schema of an event, or None."""
    return holder.get("event")


def _models(value, place, rng):
    """Any other model of the run."""
    models = [
        event[name]
        for kind in ("round", "final", "global", "contribution")
        for event in place.run.of(kind)
        for name in DIGESTS
        if name in event
    ]
    return pick(rng, [model for model in models if model != value])


def _shuffled(value, place, rng):
    return rng.sample(value, len(value))


NUMBERS = {
    "zero": _number(lambda value: 0),
    "negative": _number(lambda value: -abs(value) or -1),
    "doubled": _number(lambda value: value * 2),
    "thousandfold": _number(lambda value: value * 1000),
    "thousandth": _number(lambda value: value // 1000 if isinstance(value, int) else value / 1000),
    "one more": _number(lambda value: value + 1),
    "one less": _number(lambda value: value - 1),
    "huge": _number(lambda value: 10**15 if isinstance(value, int) else 1e90),
    "of another": _another,
}
TIMES = {
    **{name: NUMBERS[name] for name in ("zero", "negative", "huge")},
    "an hour later": _number(lambda value: value + 3600),
    "an hour earlier": _number(lambda value: value - 3600),
    "a millisecond later": _number(lambda value: value + 0.001),
}
TEXTS = {
    "empty": lambda value, place, rng: "",
    "unknown": lambda value, place, rng: f"x{rng.getrandbits(32):08x}",
    "of another": _another,
}
DIGEST_WAYS = {
    "empty": TEXTS["empty"],
    "unknown": lambda value, place, rng: f"{rng.getrandbits(256):064x}",
    "another model": _models,
}
TUPLES = {
    "emptied": lambda value, place, rng: [],
    "shortened": lambda value, place, rng: value[:-1],
    "lengthened": lambda value, place, rng: [*value, clone(value[-1])] if value else value,
    "permuted": _shuffled,
}
FLOATS = {
    **TUPLES,
    "not finite": lambda value, place, rng: [None, *value[1:]],
    "doubled": lambda value, place, rng: [number * 2 for number in value],
    "negative": lambda value, place, rng: [-abs(number) for number in value],
    "zeros": lambda value, place, rng: [0.0] * len(value),
    "huge": lambda value, place, rng: [1e90, *value[1:]],
}
DICTS = {
    "emptied": lambda value, place, rng: {},
    "one less": lambda value, place, rng: dict(list(value.items())[1:]),
}
METRICS = {
    **DICTS,
    "not finite": lambda value, place, rng: dict.fromkeys(value),
    "negative": lambda value, place, rng: {name: -abs(metric) - 0.01 for name, metric in value.items()},
    "huge": lambda value, place, rng: dict.fromkeys(value, 1e90),
    "halved": lambda value, place, rng: {name: metric / 2 for name, metric in value.items()},
}
COUNTS = {
    **DICTS,
    "negative": lambda value, place, rng: dict.fromkeys(value, -1),
    "huge": lambda value, place, rng: dict.fromkeys(value, 2**40),
}
CHOICES = {"another": lambda value, place, rng: (not value) if isinstance(value, bool) else "another"}
NONE = {"none": lambda value, place, rng: None}
GONE = {"missing": lambda value, place, rng: MISSING}


def fields():
    """Yield (name of the schema, its field) of all that a run's folder holds."""
    for name, kind in {**RECORDS, **EVENTS}.items():
        for field in inspect.type_info(kind).fields:
            yield name, field


def ways(field):
    """Return the ways to alter a field, by its type and meaning."""
    types = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    told = [member for member in types if not isinstance(member, inspect.NoneType)]
    return GONE | (NONE if len(told) < len(types) else {}) | _by_meaning(field.name, told[0])


def _by_meaning(name, kind):
    whole = isinstance(kind, inspect.DictType) and _kinds(kind.value_type)
    meanings = (
        (name == "time", TIMES),
        (name in DIGESTS, DIGEST_WAYS),
        (isinstance(kind, inspect.LiteralType | inspect.BoolType), CHOICES),
        (whole and inspect.FloatType in whole and inspect.StrType not in whole, METRICS),
        (whole == {inspect.IntType}, COUNTS),
        (isinstance(kind, inspect.DictType), DICTS),
        (isinstance(kind, inspect.VarTupleType) and inspect.FloatType in _kinds(kind.item_type), FLOATS),
        (isinstance(kind, inspect.VarTupleType), TUPLES),
        (isinstance(kind, inspect.StrType), TEXTS),
        (isinstance(kind, inspect.IntType | inspect.FloatType), NUMBERS),
    )
    return next((found for holds, found in meanings if holds), {})


def _kinds(kind):
    """Return the kinds of values that an item has."""
    return {type(member) for member in getattr(kind, "types", (kind,))}


def holders(run, kind):
    """Return the dictionaries of a run that have a schema's fields."""
    spec = run.spec
    if kind in EVENTS:
        return run.of(kind)
    return {
        "RunSpec": lambda: [spec],
        "Job": lambda: [spec["job"]],
        "Claim": lambda: spec["job"]["proof"],
        "Site": lambda: spec["sites"],
        "GivenGpu": lambda: spec.get("gpus", []),
        "GpuProcess": lambda: [
            process for gpu in spec.get("gpus", []) for process in gpu.get("processes", [])
        ],
        "Ended": lambda: [run.ended],
        "GpuSample": lambda: [gpu for sample in run.of("sample") for gpu in sample["gpus"].values()],
    }[kind]()


def _alter(kind, name, way):
    def change(run, rng):
        every = holders(run, kind)
        having = [holder for holder in every if holder.get(name) is not None]
        holder = pick(rng, having)
        value = way(clone(holder[name]), Place(run, holder, name, every), rng)
        if value is MISSING:
            del holder[name]
        else:
            holder[name] = value

    return change


@dataclass(frozen=True)
class Judged:
    """Some ways to alter a field, and why they are contradictions; or ``free``, why they cannot be told."""

    ways: str
    """Names with commas between them; ``*`` for all that no entry before it has."""
    why: str
    where: Callable = anywhere
    free: bool = False

    def names(self, every):
        return set(every) if self.ways == "*" else {way.strip() for way in self.ways.split(",")}


def wrong(ways, why, where=anywhere):
    return Judged(ways, why, where)


def free(ways, why):
    return Judged(ways, why, free=True)


def free_ways(table):
    """Yield (schema, field, way) of all that cannot be told, and the change."""
    for kind, field in fields():
        every, done = ways(field), set()
        for entry in table.get((kind, field.name), ()):
            for way in sorted((entry.names(every) - done) & set(every)):
                done.add(way)
                if entry.free:
                    yield kind, field.name, way, _alter(kind, field.name, every[way])


def register_fields(table):
    """Register a mutation for each way of each field that the table calls a contradiction."""
    for kind, field in fields():
        every, done = ways(field), set()
        for entry in table.get((kind, field.name), ()):
            for way in sorted((entry.names(every) - done) & set(every)):
                done.add(way)
                if not entry.free:
                    register(
                        Mutation(
                            f"{kind}.{field.name} {way}",
                            f"{kind}.{field.name}: {entry.why}",
                            _alter(kind, field.name, every[way]),
                            entry.where,
                            made=True,
                            ways=1,
                        )
                    )
