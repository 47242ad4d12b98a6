# SPDX-License-Identifier: Apache-2.0
"""Norms made of hosts that are right."""

from collections.abc import Iterable

from rekindle.records import AcceptanceRecord, Norm, Norms, RecordError, Timestamp
from rekindle.records.text import list_few, shorten_text

from .catalogue import find_comparable, load_measures, pick_best
from .evaluation import format_figure

_Of = tuple[str, int | None, str, int | None, str | None, bool | None]
"""Name, size and model of a figure; where it depends on its host, also that one's GPUs, topology and NVLS."""


def make_norms(records: Iterable[AcceptanceRecord], made: Timestamp) -> Norms:
    """Return norms of the speeds of GPUs and of what is between them.

    Each is the worst figure of these hosts, less what fleets may differ by.

    Args:
        records: of hosts that are right, one each.
        made: when, for the sources.

    Raises:
        RecordError: they have no such figure.
    """
    groups: dict[_Of, list[tuple[str, float]]] = {}
    for record in records:
        kind = record.kind
        for figure in record.measurements:
            measure, value = find_comparable(figure), None
            if measure and measure.fault == "speed" and measure.of != "host":
                value = pick_best(figure)
            if measure and value is not None:
                alone = measure.of == "gpu" and not measure.placed
                where = (None, None, None) if alone else (kind.count, kind.topology, kind.nvls)
                of = (figure.name, figure.size, kind.model, *where)
                groups.setdefault(of, []).append((record.host, value))
    if not groups:
        raise RecordError(
            "No host of these runs is right, so there is nothing to make norms of.",
            "accept two hosts of one kind together, and see what rekindle accept says of each.",
        )
    norms = tuple(_norm(of, figures, made) for of, figures in groups.items())
    return Norms(gpus={norm.models[0]: norm.models for norm in norms}, norms=norms)


def _norm(of: _Of, figures: list[tuple[str, float]], made: Timestamp) -> Norm:
    name, size, model, count, topology, nvls = of
    measure = load_measures()[name]
    low, high = (format_figure(pick(value for _, value in figures)) for pick in (min, max))
    hosts = shorten_text(list_few(list(dict.fromkeys(host for host, _ in figures)), 3), 300)
    worst = min if measure.better == "higher" else max
    return Norm(
        name=name,
        value=worst(value for _, value in figures),
        margin=measure.distance or 0.0,
        models=(model,),
        count=count,
        topologies=(topology,) if topology else (),
        nvls=nvls,
        sizes=None if size is None else (size, size),
        source=f"your norms of {made[:10]}, by {hosts}: {low} to {high}; the margin is Rekindle's",
    )
