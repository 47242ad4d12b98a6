# SPDX-License-Identifier: Apache-2.0
"""The order of measurements: pairs, suspects again, all together, and halves of what is wrong together."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

from rekindle.records import Norms, format_time
from rekindle.records.fabric import FabricLook, FabricRecord

from .groups import find_bad_groups, find_floor, pick_whole
from .judgement import (
    count_looks,
    count_repetitions,
    find_hung,
    find_suspects,
    judge_fabric,
)
from .schedule import cut_group, list_rounds, match_pairs

_STEPS_AGAIN = 8
"""Of one repetition: a slow host has n - 1 slow pairs, of which a few are enough."""
REST_S = 15.0
"""Before the second repetition and each later one: a network that others use is slow for some seconds."""


class SurveyStep(NamedTuple):
    """Groups of hosts to measure at once, each by itself."""

    title: str
    groups: list[tuple[str, ...]]
    rest_s: float = 0.0
    """To wait before it."""


Survey = Generator[SurveyStep, list[FabricLook], None]


class Conduct:
    """A survey of ``hosts``, whose ``looks`` grow; what is in ``silent`` is measured no more."""

    def __init__(self, hosts: Sequence[str], norms: Norms | None = None) -> None:
        """Begin with nothing measured."""
        self._hosts, self._norms = tuple(hosts), norms
        self._times = count_repetitions(len(hosts))
        self.looks: list[FabricLook] = []
        self.silent: dict[str, str] = {}
        self._hung: set[str] = set()

    def list_steps(self) -> Survey:
        """Yield what to measure next, and take the looks at it."""
        rounds = list(list_rounds(self._hosts))
        for number, pairs in enumerate(rounds, 1):
            yield from self._measure(f"pairs, step {number} of {len(rounds)}", pairs)
        yield from self._repeat()
        yield from self._gather()

    @property
    def _lost(self) -> set[str]:
        return self._hung | self.silent.keys()

    def _measure(self, title: str, groups: Sequence[Sequence[str]], rest_s: float = 0.0) -> Survey:
        lost = self._lost
        if there := [tuple(group) for group in groups if not lost & set(group)]:
            new = yield SurveyStep(title, there, rest_s)
            self.looks += new
            if any(look.outcome == "hung" for look in new):
                self._hung = find_hung(self.looks)

    def _repeat(self) -> Survey:
        """Measure again what is bad, until it is good or was bad each time."""
        times = count_looks(len(self._hosts)) - 1
        for number in range(times):
            suspects = find_suspects(self.looks, self._lost, self._norms)
            rest_s = REST_S if number else 0.0
            for again in match_pairs(suspects)[:_STEPS_AGAIN]:
                title = f"{len(again)} pairs again, repetition {number + 1} of {times}"
                yield from self._measure(title, again, rest_s)
                rest_s = 0.0

    def _gather(self) -> Survey:
        """Measure all hosts together that nothing is wrong with, and halves of what is bad."""
        record = FabricRecord(
            hosts=self._hosts, started=format_time(), seconds=0, silent=self.silent, looks=tuple(self.looks)
        )
        flaws = judge_fabric(record)
        out = {flaw.hosts[0] for flaw in flaws if len(flaw.hosts) == 1 and flaw.kind in ("stuck", "wrong")}
        out |= {host for flaw in flaws if len(flaw.hosts) > 1 and flaw.kind == "stuck" for host in flaw.hosts}
        group = [host for host in self._hosts if host not in out | self._lost]
        slow = any(flaw.kind in ("slow", "drops") for flaw in flaws)
        if len(group) < 3:
            return
        for _ in range(2):
            yield from self._measure("all together", [group])
            whole = pick_whole(self.looks)
            if whole is None or whole.outcome != "measured" or whole.wrong:
                break
        bad = find_bad_groups([whole] if whole else [], 0.0 if slow else find_floor(self.looks))
        for number in range(self._times):
            halves = [half for look in bad for half in cut_group(look.hosts) if len(half) > 1]
            if not halves:
                return
            known = len(self.looks)
            yield from self._measure(f"halves, repetition {number + 1} of {self._times}", halves)
            bad = find_bad_groups(self.looks[known:], 0.0, self.looks[known:])
