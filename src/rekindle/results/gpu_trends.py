# SPDX-License-Identifier: Apache-2.0
"""The figures of GPUs over runs: of those that were measured more than once, the ones that got worse most."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from rekindle.acceptance import evaluate_figures
from rekindle.acceptance.catalogue import load_measures
from rekindle.acceptance.strips import pick_figures
from rekindle.host.instances import name_place

from .contents import Results

_MOST = 12


class GpuTrend(NamedTuple):
    """One figure of one GPU, the newest value last."""

    host: str
    gpu: str
    name: str
    unit: str
    values: list[tuple[str, float]]
    """Each with the time at which it was measured."""
    worse: float
    """How much worse the newest is than the median of those before, relative to that."""


def find_gpu_trends(runs: Iterable[Results]) -> list[GpuTrend]:
    """Return the figures that got worse most, for a bounded number; none that got better."""
    series: dict[tuple[str, str, str], dict[str, float]] = {}
    names: dict[str, str] = {}
    for results in runs:
        for host in results.hosts:
            if host.acceptance is None:
                continue
            names |= {gpu.uuid: name_place(gpu.index, gpu.uuid) for gpu in host.acceptance.gpus}
            for (name, uuid), (_, value) in pick_figures(evaluate_figures(host.acceptance)).items():
                if uuid:
                    series.setdefault((host.name, uuid, name), {})[host.acceptance.started] = value
    found = []
    for (of, uuid, name), by_time in series.items():
        *before, (_, newest) = values = sorted(by_time.items())
        if not before:
            continue
        measure = load_measures()[name]
        worse = measure.worse(newest, median(value for _, value in before))
        if worse > 0:
            found.append(GpuTrend(of, names.get(uuid, uuid), name, measure.unit, values, worse))
    return sorted(found, key=lambda trend: -trend.worse)[:_MOST]
