# SPDX-License-Identifier: Apache-2.0
"""The driver's samples reach over all of a run."""

import math
from collections.abc import Iterator
from itertools import pairwise

from rekindle.judge.check import Result, register_check, unknown
from rekindle.judge.run import Run
from rekindle.records.events import RoundEvent, SampleEvent
from rekindle.records.run import Suspension

_GAP_S = 30.0
"""Samples are a second apart, 3.2 s at most in recorded runs on a host with too few cores; NVML may hang."""


def _measure_gap(run: Run, before: float, after: float) -> float:
    """Return the seconds between two samples in which the run was not suspended, as far as that is known."""
    spans = run.ended.suspensions if run.ended else ()
    if len(spans) == Suspension.MOST or (spans and run.spec.over_hosts):
        return 0.0
    stopped = sum(max(0.0, min(after, span.until) - max(before, span.since)) for span in spans)
    return after - before - stopped


@register_check(
    "federated",
    holds="The driver took samples from before the first round to after the last one, of all GPUs each time.",
    needs=(SampleEvent,),
)
def sampled_all_along(run: Run) -> Iterator[Result]:
    """Samples have no gap; those of the driver's own node, none from the run's start to its end."""
    rounds = [line.event for line in run.find(RoundEvent)]
    first = min((event.time - event.seconds for event in rounds), default=math.inf)
    last = max((event.time for event in rounds), default=-math.inf)
    for node in run.nodes:
        samples, where = run.samples.of_node(node), f" of {node}" if node else ""
        times = [line.event.time for line in samples]
        if not times:
            yield unknown(f"The driver took no samples{where}.")
        elif min(times) > first or max(times) < last:
            yield unknown(f"The samples{where} do not reach from before the first round to after the last.")
        if node == run.nodes[0] and run.ended and run.started is not None:
            times = [run.started, *times, run.started + run.ended.duration_s]
        gap = max((_measure_gap(run, *pair) for pair in pairwise(times)), default=0.0)
        if gap > _GAP_S:
            yield unknown(f"The driver took no sample{where} for {gap:.0f} s.")
        for line in samples:
            if missing := run.spec.gpus_on(node) - line.event.gpus.keys() - line.event.unanswered.keys():
                yield unknown(f"A sample lacks {min(missing)}.", line)
