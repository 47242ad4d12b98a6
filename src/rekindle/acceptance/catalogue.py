"""What each measurement is, the norms with their sources, and the limits of comparisons: data beside this."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from rekindle.records import Kind, Measurement, Record, decodable, decode

Fault = Literal["correctness", "health", "link", "occupied", "speed", "coverage"]
"""What a failure means, the worst first: a wrong result is worse than a slow one."""
_MOST = 1e9


class Measure(Record, kw_only=True, frozen=True):
    """What is measured under one name."""

    of: Literal["gpu", "pair", "gpus", "host"]
    unit: str
    better: Literal["higher", "lower", "zero"]
    distance: float | None = None
    """From the median of others, relative to it, beyond which it may be an outlier; None: not compared."""
    from_size: int = 0
    """Bytes, below which it varies too much to be compared."""
    placed: bool = False
    """Whether it may differ by a GPU's place in its host, so that fleets are compared place by place."""
    any_link: bool = False
    """Whether hosts of other topology and driver may be compared, as the topology follows from it."""
    signed: bool = False
    """Whether it may be below zero."""
    shared: bool = False
    """Whether it crosses PCIe, which neighbours share, so that one look does not condemn it."""
    fault: Fault
    gates: bool = False
    """Whether by default no job runs where it fails: it is a wrong result, bad memory, ECC or an Xid."""
    remedy: str | None = None
    """Instead of the one of its fault."""
    required: Literal["always", "several", "short", "burn", "never"] | None = None
    """Always, with several GPUs, or in one mode: where it is missing nothing is proven. None: of each GPU if
    others of its model in the host have it."""
    says: str

    @property
    def varies(self) -> bool:
        """Whether a worse figure is measured again; errors and the state of links are facts at once."""
        return self.fault in {"speed", "occupied"}

    def worse(self, value: float, than: float) -> float:
        """Return how much worse ``value`` is, relative to ``than``; below 0 where it is better.

        Finite whatever the figures are: of 0, anything else is all of it away.
        """
        short = than - value if self.better == "higher" else value - than
        return max(-_MOST, min(_MOST, short / abs(than))) if than else float((short > 0) - (short < 0))


class Norm(Record, kw_only=True, frozen=True):
    """A figure that a healthy GPU or host reaches, and of which that is true."""

    name: str
    value: float
    margin: float = 0.0
    """Share of the value that may be missing, where that is no floor but what somebody measured."""
    said: float | None = None
    """What is worse than this is noted, and fails only by the value."""
    models: tuple[str, ...] = ()
    """Keys of ``gpus``; none: of any."""
    count: int | None = None
    topologies: tuple[str, ...] = ()
    nvls: bool | None = None
    sizes: tuple[int, int] | None = None
    """Bytes, from and to."""
    source: str


@decodable
class _Measures(Record, kw_only=True, frozen=True):
    remedies: dict[Fault, str]
    most: dict[str, float]
    """By unit, what no figure is beyond."""
    measurements: dict[str, Measure]


@decodable
class Norms(Record, kw_only=True, frozen=True):
    """All norms."""

    gpus: dict[str, tuple[str, ...]]
    """Names that nvidia-smi gives a model."""
    norms: tuple[Norm, ...]


class _Past(Record, kw_only=True, frozen=True):
    said: float
    fails: float
    source: str


@decodable
class Limits(Record, kw_only=True, frozen=True):
    """When a figure is an outlier among others', or has changed since the last time."""

    robust_z: float
    """In scaled MADs from the median."""
    mixed: float
    """Share of hosts that are faster than the others, from which on there are two groups of them."""
    history: _Past
    source: str


def _content(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _catalogue() -> _Measures:
    return decode(_content("measurements.json"), _Measures)


@cache
def measures() -> dict[str, Measure]:
    """Return what is measured, by name."""
    return _catalogue().measurements


def possible(measurement: Measurement) -> bool:
    """Whether a figure can be true, if there is one: no count is negative, and no share above 100 %."""
    measure = measures().get(measurement.name)
    if measure is None or measurement.value is None:
        return True
    most = _catalogue().most.get(measure.unit, float("inf"))
    values = (measurement.value, *(again.value for again in measurement.again))
    return all((measure.signed or value >= 0) and abs(value) <= most for value in values)


def comparable(measurement: Measurement) -> Measure | None:
    """Return what a figure is if it is compared with the same of other GPUs, hosts and times."""
    measure = measures().get(measurement.name)
    if measure is None or measure.distance is None or measurement.value is None or not possible(measurement):
        return None
    return measure if (measurement.size or 0) >= measure.from_size else None


def best(measurement: Measurement) -> float | None:
    """Return the best of all looks at a figure that is known here, as it is slow only if each look is."""
    measure = measures()[measurement.name]
    if measurement.value is None or not measure.varies:
        return measurement.value
    better = max if measure.better == "higher" else min
    return better([measurement.value, *(again.value for again in measurement.again)])


@cache
def remedy(name: str) -> str:
    """Return what to do where the measurement ``name`` fails, a sentence or two."""
    return measures()[name].remedy or _catalogue().remedies[measures()[name].fault]


@cache
def limits() -> Limits:
    """Return the limits of comparisons."""
    return decode(_content("limits.json"), Limits)


@cache
def norms() -> Norms:
    """Return the norms, and by which names nvidia-smi calls the models that they are of."""
    return decode(_content("norms.json"), Norms)


def norm_of(measurement: Measurement, kind: Kind) -> Norm | None:
    """Return the norm of a measurement: never of another model, topology, count or NVLS state."""
    size = measurement.size
    for norm in norms().norms:
        if (
            norm.name == measurement.name
            and (not norm.models or any(kind.model in norms().gpus[model] for model in norm.models))
            and norm.count in {None, kind.count}
            and (not norm.topologies or kind.topology in norm.topologies)
            and (norm.nvls is None or norm.nvls is kind.nvls)
            and (norm.sizes is None or (size is not None and norm.sizes[0] <= size <= norm.sizes[1]))
        ):
            return norm
    return None
