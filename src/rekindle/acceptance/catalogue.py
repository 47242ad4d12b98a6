# SPDX-License-Identifier: Apache-2.0
"""Measurements, norms with their sources, and the limits of comparisons, from data beside this."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from rekindle.records import Kind, Measurement, Record, RecordError, allow_decoding, decode_json, read_record
from rekindle.records.acceptance import Norm, Norms
from rekindle.records.action import Action
from rekindle.records.text import shorten_text

Fault = Literal["correctness", "health", "link", "occupied", "speed", "coverage"]
_MOST = 1e9


class Measure(Record, kw_only=True, frozen=True):
    """A measurement."""

    of: Literal["gpu", "pair", "gpus", "host", "link"]
    """``link``: between hosts, which stand in the places of GPUs."""
    unit: str
    better: Literal["higher", "lower", "zero"]
    distance: float | None = None
    """Relative distance from the median of others that makes an outlier; None: not compared."""
    from_size: int = 0
    """Smaller sizes, in bytes, vary too much to be compared."""
    placed: bool = False
    """Whether fleets are compared place by place, as it depends on a GPU's place in its host."""
    any_link: bool = False
    """Whether hosts of other topology and driver are compared too."""
    signed: bool = False
    shared: bool = False
    """Whether it crosses PCIe, which neighbours share: one look alone is no failure."""
    fault: Fault
    gates: bool = False
    """Whether a failure keeps jobs away by default: a wrong result, bad memory, ECC or an Xid."""
    remedy: str | None = None
    action: Action | None = None
    """None: that of its fault."""
    required: Literal["always", "several", "short", "burn", "never"] | None = None
    """When a missing one makes a host UNPROVEN. None: if other GPUs of the model in the host have it."""
    description: str

    @property
    def varies(self) -> bool:
        """Whether a worse figure is measured again, unlike errors and the state of links."""
        return self.fault in {"speed", "occupied"}

    def worse(self, value: float, than: float) -> float:
        """Return how much worse ``value`` is, relative to ``than``; below 0 where it is better.

        Finite for all figures.
        """
        short = than - value if self.better == "higher" else value - than
        return max(-_MOST, min(_MOST, short / abs(than))) if than else float((short > 0) - (short < 0))


@allow_decoding
class _Measures(Record, kw_only=True, frozen=True):
    remedies: dict[Fault, str]
    actions: dict[Fault, Action]
    """What a failure asks the host's operator for."""
    most: dict[str, float]
    """Largest possible figure by unit."""
    measurements: dict[str, Measure]


class _Past(Record, kw_only=True, frozen=True):
    noted: float
    fails: float
    source: str


@allow_decoding
class Limits(Record, kw_only=True, frozen=True):
    """When a figure is an outlier among others', or has changed since the last time."""

    robust_z: float
    """In scaled MADs from the median."""
    mixed: float
    """Smallest share of hosts that makes a group of its own."""
    history: _Past
    source: str


def _content(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _catalogue() -> _Measures:
    return decode_json(_content("measurements.json"), _Measures)


@cache
def load_measures() -> dict[str, Measure]:
    """Return what is measured, by name."""
    return _catalogue().measurements


def is_possible(measurement: Measurement) -> bool:
    """Whether a figure is missing or can be true: no negative count, no share above 100 %."""
    measure = load_measures().get(measurement.name)
    if measure is None or measurement.value is None:
        return True
    most = _catalogue().most.get(measure.unit, float("inf"))
    values = (measurement.value, *(again.value for again in measurement.again))
    return all((measure.signed or value >= 0) and abs(value) <= most for value in values)


def find_comparable(measurement: Measurement) -> Measure | None:
    """Return the measure of a figure that is compared with other GPUs, hosts and times; else None."""
    measure = load_measures().get(measurement.name)
    if (
        measure is None
        or measure.distance is None
        or measurement.value is None
        or not is_possible(measurement)
    ):
        return None
    return measure if (measurement.size or 0) >= measure.from_size else None


def pick_best(measurement: Measurement) -> float | None:
    """Return the best of all looks at a figure: it is slow only if each look is."""
    measure = load_measures()[measurement.name]
    if measurement.value is None or not measure.varies:
        return measurement.value
    better = max if measure.better == "higher" else min
    return better([measurement.value, *(again.value for again in measurement.again)])


@cache
def find_remedy(name: str) -> str:
    """Return what to do where the measurement ``name`` fails, a sentence or two."""
    return load_measures()[name].remedy or _catalogue().remedies[load_measures()[name].fault]


def find_action(name: str) -> Action:
    """Return what the host's operator is to do where the measurement ``name`` fails."""
    return load_measures()[name].action or _catalogue().actions[load_measures()[name].fault]


@cache
def load_limits() -> Limits:
    """Return the limits of comparisons."""
    return decode_json(_content("limits.json"), Limits)


@cache
def load_norms() -> Norms:
    """Return our norms."""
    return decode_json(_content("norms.json"), Norms)


def read_norms(path: Path) -> Norms:
    """Return the norms in a file of the user's.

    Raises:
        RecordError: it is not there, or is no such file.
    """
    norms = read_record(path, Norms)
    for norm in norms.norms:
        if norm.name not in load_measures():
            wrong = f"a norm of {shorten_text(norm.name, 100)!r}, and there is no such measurement"
        elif unknown := [model for model in norm.models if model not in norms.gpus]:
            wrong = f"a norm of the model {shorten_text(unknown[0], 100)!r}, which its gpus do not name"
        else:
            continue
        fix = "correct it, or make the file again (rekindle accept RESULTS --make-norms)."
        raise RecordError(f"{path} has {wrong}.", fix)
    return norms


def find_norm(measurement: Measurement, kind: Kind, given: Norms | None) -> Norm | None:
    """Return the norm of a measurement: never of another model, topology, count or NVLS state.

    Those ``given`` come first; ours are for figures that they have none of.
    """
    return next(
        (norm for norms in (given, load_norms()) if norms and (norm := _fitting(norms, measurement, kind))),
        None,
    )


def _fitting(norms: Norms, measurement: Measurement, kind: Kind) -> Norm | None:
    size = measurement.size
    for norm in norms.norms:
        if (
            norm.name == measurement.name
            and (not norm.models or any(kind.model in norms.gpus.get(model, ()) for model in norm.models))
            and norm.count in {None, kind.count}
            and (not norm.topologies or kind.topology in norm.topologies)
            and (norm.nvls is None or norm.nvls is kind.nvls)
            and (norm.sizes is None or (size is not None and norm.sizes[0] <= size <= norm.sizes[1]))
        ):
            return norm
    return None
