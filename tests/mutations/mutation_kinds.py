"""What a mutation is, and the register of all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from mutation_runs import Inapplicable, RunCopy


@dataclass(frozen=True)
class Mutation:
    """One way to alter a run, and whether what it tells then is still true."""

    name: str
    attacks: str
    """The rule or field that it is about."""
    change: Callable[[RunCopy, Random], None]
    where: Callable[[RunCopy], bool]
    benign: bool = False
    made: bool = False
    """Whether it was made from a schema, and may find no such value in any recorded run."""
    ways: int | None = None
    """How many places or values to try by run; None: as many as asked for."""


def alter(change, run, rng):
    """Alter a run.

    Raises:
        Inapplicable: it has nothing that could be altered so; an example, which trainers write nothing of.
    """
    try:
        change(run, rng)
    except (LookupError, ValueError) as error:
        if run.of_example:
            raise Inapplicable from error
        raise


def applies(mutation, run):
    """Return whether a run is one that the mutation is for."""
    try:
        return mutation.where(run)
    except (LookupError, Inapplicable):
        if run.of_example:
            return False
        raise


MUTATIONS: dict[str, Mutation] = {}


def anywhere(run):
    return True


def register(mutation):
    """Add a mutation."""
    assert mutation.name not in MUTATIONS, f"two mutations are named {mutation.name}"
    MUTATIONS[mutation.name] = mutation


def lie(attacks, where=anywhere, ways=None):
    """Register a function as a contradiction: what it leaves is never a PASS."""

    def decorate(function):
        register(Mutation(_name(function), attacks, function, where, ways=ways))
        return function

    return decorate


def benign(attacks, where=anywhere, ways=None):
    """Register a function as a change after which the run still is a PASS."""

    def decorate(function):
        register(Mutation(_name(function), attacks, function, where, benign=True, ways=ways))
        return function

    return decorate


def lies(attacks, table, where=anywhere, ways=None):
    """Register each function of a table by its name."""
    for name, function in table.items():
        register(Mutation(name, attacks, function, where, ways=ways))


def _name(function):
    return function.__name__.strip("_").replace("_", " ")


def pick(rng, choices):
    """Return one of the choices.

    Raises:
        Inapplicable: there are none.
    """
    choices = list(choices)
    if not choices:
        raise Inapplicable
    return rng.choice(choices)


def on_gpus(run):
    return bool(run.gpus)


def gpus_named(run):
    """Whether trainers told what GPUs are called; TensorFlow's call each ``GPU``."""
    return on_gpus(run) and any(device["name"] != "GPU" for device in run.of("device"))


def on_cpu(run):
    return not run.gpus


def of_ours(run):
    """Whether the run is of a job of ours, and not of an example."""
    return not run.of_example


def spec2(run):
    return run.spec["schema"] == "rekindle/spec/2"


def several_sites(run):
    return len(run.sites) > 1


def several_ranks(run):
    return all(run.ranks(site) > 1 for site in run.sites)


def processes_by_rank(run):
    """Whether each rank is a process of its own, as under torchrun."""
    pids = [device["pid"] for device in run.of("device")]
    return len(set(pids)) == len(pids) and several_ranks(run)


def lossy(run):
    return any(claim["options"].get("lossy") for claim in run.spec["job"]["proof"])


def exact(run):
    return not lossy(run)


def claims(name):
    """Return the condition that the run's job makes a claim."""
    return lambda run: any(claim["claim"] == name for claim in run.spec["job"]["proof"])


def both(*conditions):
    return lambda run: all(condition(run) for condition in conditions)
