# SPDX-License-Identifier: Apache-2.0
"""Fabrics of many hosts, simulated: links named by mistake, and slow links that are not found.

    python benchmarks/fabric.py [--hosts N] [--runs N] [--first N] [--noise SIGMA] [--dips SHARE]

Each look has noise, three times that of nine all-reduces of two H100s in a row, which spread over 1.4 %; and
some are 7 to 16 % low, as copies over PCIe were for a moment where others used it. In every run three links
are 15 % slow, and in every second one a host is. A pair of a slow host is no false name. Each fabric is
measured twice: what then fails by its past is a false name too.
"""

import argparse
import random
import time

from rekindle.fabric.judgement import judge_fabric
from rekindle.fabric.past import find_link_changes
from rekindle.fabric.survey import Conduct, SurveyStep
from rekindle.records.fabric import Bandwidth, FabricLook, FabricRecord

_SIZE = 256 << 20
_RATE = 45.0
"""GB/s; any would do."""
_SLOW = 0.85


class Fabric:
    """A fabric whose slow links and hosts are known."""

    def __init__(self, hosts: int, noise: float, dips: float, seed: int) -> None:
        """Choose what is slow: three links, and in every second fabric a host that has none of them."""
        self._random = random.Random(seed)
        self.hosts = [f"h{number:03}" for number in range(hosts)]
        self._noise, self._dips = noise, dips
        chosen = self._random.sample(self.hosts, 7)
        self.slow = {tuple(sorted(pair)) for pair in zip(chosen[0:6:2], chosen[1:6:2], strict=True)}
        self.slow |= {(chosen[6],)} if seed % 2 else set()

    def measure(self, step: SurveyStep) -> list[FabricLook]:
        """Return the looks of a step."""
        return [self._look(group) for group in step.groups]

    def _look(self, group: tuple[str, ...]) -> FabricLook:
        pair = tuple(sorted(group))
        is_slow = pair in self.slow or any((host,) in self.slow for host in group)
        rate = _RATE * (_SLOW if is_slow else 1.0) * self._random.gauss(1.0, self._noise)
        if self._random.random() < self._dips:
            rate *= 1 - self._random.uniform(0.07, 0.16)
        figure = Bandwidth(op="all_reduce", size=_SIZE, gb_s=rate)
        return FabricLook(hosts=group, outcome="measured", bandwidths=(figure,))


def simulate_survey(fabric: Fabric, started: str) -> tuple[FabricRecord, set[tuple[str, ...]], int]:
    """Return a fabric's record, what is named of it, and in how many steps beyond the round robin's."""
    conduct = Conduct(fabric.hosts)
    steps, count = conduct.list_steps(), 0
    step = next(steps, None)
    while step is not None:
        count += 1
        try:
            step = steps.send(fabric.measure(step))
        except StopIteration:
            step = None
    record = FabricRecord(hosts=tuple(fabric.hosts), started=started, seconds=0, looks=tuple(conduct.looks))
    named = {flaw.hosts for flaw in judge_fabric(record) if flaw.verdict}
    return record, named, count - (len(fabric.hosts) - 1)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=256)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.015)
    parser.add_argument("--dips", type=float, default=0.01)
    args = parser.parse_args()
    false = missed = slow = more = past = 0
    began = time.monotonic()
    for run in range(args.first, args.first + args.runs):
        fabric = Fabric(args.hosts, args.noise, args.dips, run)
        then, named, extra = simulate_survey(fabric, "2026-11-28T09:00:00Z")
        now, _, _ = simulate_survey(fabric, "2026-11-29T09:00:00Z")
        changes = find_link_changes([then, now]).values()
        past += sum(flaw.verdict is not None for flaws in changes for flaw in flaws)
        slow_hosts = {name[0] for name in fabric.slow if len(name) == 1}
        false += sum(not slow_hosts & set(name) for name in named - fabric.slow)
        missed += len(fabric.slow - named)
        slow += len(fabric.slow)
        more = max(more, extra)
    took = time.monotonic() - began
    print(f"{args.runs} runs of {args.hosts} hosts, noise {args.noise:.1%}, dips {args.dips:.1%}:")
    print(f"{false} false names, {past} by the past; {slow - missed} of {slow} slow links and hosts found")
    print(f"at most {more} steps beyond the round robin; {took / args.runs:.2f} s a run")


if __name__ == "__main__":
    main()
