# SPDX-License-Identifier: Apache-2.0
"""Simulates fleets with the spread of real H200s: slow GPUs that are found, and healthy ones that are blamed.

    .venv/bin/python benchmarks/outliers.py           # about 15 minutes on one core

First one measurement alone, for several limits: those in src/rekindle/acceptance/ were chosen by this. Then
complete fleets of hosts with 8 GPUs of a model without norms, with all measurements for which
tests/samples/fleets.py has a spread: each GPU, pair and host is compared within its host and with the
fleet, and any may be a false alarm. One of every 200 GPUs, and at least one, is 10 % slow in one
measurement.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from unittest.mock import patch

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from samples.fleets import H200, accepted, edited, kind, times

from rekindle.acceptance import compare_hosts, comparison, evaluate_figures, judge_acceptance
from rekindle.acceptance.catalogue import Measure, load_limits, load_measures
from rekindle.acceptance.evaluation import compare_within_host
from rekindle.records import AcceptanceRecord

FLEETS = 1000
SIZES = (8, 16, 64, 256, 2000)
NEAR = 0.0082
"""Standard deviation of bf16_matmul, relative: 778 to 804 TFLOP/s are four of them."""
WIDE = 0.016
"""The same if these are the smallest and largest of four from a normal distribution."""
SLOW = 0.9

Blamed = tuple[str, int | None, str]
"""Host, index of a GPU, measurement."""


def share(part: int, total: int) -> str:
    """Return a percentage."""
    return f"{100 * part / total:.2f} %"


def one_measurement() -> Iterator[str]:
    """Yield rows: limits, GPUs, and found and falsely blamed under both spreads."""
    measure = load_measures()["bf16_matmul"]
    for robust_z in (3, 4, 5):
        for distance in (0.04, 0.05, 0.06, 0.07, 0.08):
            for size in (8, 64, 2000):
                cells = [f"{robust_z}", f"{distance:.0%}", f"{size}"]
                for spread in (NEAR, WIDE):
                    found, blamed = _alone(replace(measure, distance=distance), robust_z, size, spread)
                    cells += [share(found, FLEETS), share(blamed, FLEETS)]
                yield f"| {' | '.join(cells)} |"


def _alone(measure: Measure, robust_z: float, size: int, spread: float) -> tuple[int, int]:
    """Return in how many fleets the slow GPU is found, and in how many one is blamed and none is slow."""
    random = Random(f"{size} {spread}")
    found = blamed = 0
    with patch.object(comparison, "load_limits", lambda: replace(load_limits(), robust_z=robust_z)):
        for _ in range(FLEETS):
            figures = [random.gauss(791, 791 * spread) for _ in range(size)]
            blamed += bool(comparison.find_outliers(figures, measure).worse)
            found += 0 in comparison.find_outliers([figures[0] * SLOW, *figures[1:]], measure).worse
    return found, blamed


def whole_fleets() -> Iterator[str]:
    """Yield rows: GPUs, slow ones, found, and fleets with a false alarm, without and with slow GPUs."""
    for size in SIZES:
        slow = found = healthy = others = 0
        for number in range(FLEETS):
            ill, before, now = _fleet(size, number)
            slow += len(ill)
            found += len(now & ill)
            healthy += bool(before)
            others += bool(now - before - ill)
        cells = [f"{size}", f"{slow}", share(found, slow), share(healthy, FLEETS), share(others, FLEETS)]
        yield f"| {' | '.join(cells)} |"


def _fleet(size: int, number: int) -> tuple[set[Blamed], set[Blamed], set[Blamed]]:
    """Return what is slow in a fleet, what is blamed while nothing is, and what is blamed then."""
    random = Random(f"{size} {number}")
    fleet = [_host(f"gpu-{n}", number) for n in range(size // 8)]
    before = _blamed(fleet)
    ill: set[Blamed] = set()
    for place in random.sample(range(len(fleet)), max(1, size // 200)):
        name, gpu = random.choice([*H200]), random.randrange(8)
        fleet[place] = edited(fleet[place], name, times(SLOW), gpu)
        ill.add((fleet[place].host, gpu, name))
    return ill, before, _blamed(fleet)


def _host(name: str, seed: int) -> AcceptanceRecord:
    """Return a healthy host with the figures that vary."""
    record = accepted(name, kind(8, "NVIDIA Z9"), seed)
    kept = tuple(measurement for measurement in record.measurements if measurement.name in H200)
    return replace(record, measurements=kept)


def _blamed(fleet: list[AcceptanceRecord]) -> set[Blamed]:
    flaws = list(compare_hosts(fleet).flaws)
    for host in fleet:
        if any(outlier for _, outlier in compare_within_host(host).values()):
            flaws += [
                flaw
                for flaw in judge_acceptance(evaluate_figures(host), (), True).flaws
                if flaw.verdict == "FAIL"
            ]
    return {(flaw.host, flaw.gpu, flaw.measurement) for flaw in flaws}


if __name__ == "__main__":
    print(
        "| z | distance | GPUs | found | false | found, wide | false, wide |\n|---|---|---|---|---|---|---|"
    )
    for row in one_measurement():
        print(row, flush=True)
    print("\n| GPUs | slow | found | false, all healthy | false beside a slow one |\n|---|---|---|---|---|")
    for row in whole_fleets():
        print(row, flush=True)
