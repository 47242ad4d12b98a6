# SPDX-License-Identifier: Apache-2.0
"""The results that NVFlare's server gets: how long a round takes, and whether one is overdue."""

from itertools import pairwise

from rekindle.records.events import TaskEvent

_SILENCES = 4
"""Times ``silence_s`` without a result, at least, until one is overdue …"""
_ROUNDS = 5
"""… and times the longest round so far."""


class RoundResults:
    """The results of each round, by when they came; seconds since the run's start."""

    def __init__(self, rounds: int, silence_s: float) -> None:
        """Expect so many rounds; the last one that has as many results as the one before ends a task."""
        self._expected, self._silence_s = rounds, silence_s
        self._came: dict[str, dict[int, list[float]]] = {}
        self._last_s = 0.0

    def take(self, event: TaskEvent, at_s: float) -> None:
        """Count a result."""
        self._last_s = at_s
        if event.round is not None:
            self._came.setdefault(event.task, {}).setdefault(event.round, []).append(at_s)

    def find_overdue(self, at_s: float) -> str | None:
        """Return a sentence if a result should have come long ago; None if not, or if none is owed."""
        longest_s = max(map(self._longest_s, filter(self._goes_on, self._came)), default=0.0)
        waited_s = at_s - self._last_s
        if not longest_s or waited_s <= max(_SILENCES * self._silence_s, _ROUNDS * longest_s):
            return None
        return f"No site has sent a result for {waited_s:.0f} s; no round before took over {longest_s:.0f} s."

    def _goes_on(self, task: str) -> bool:
        rounds = self._came[task]
        last = max(rounds)
        return last + 1 < self._expected or len(rounds[last]) < len(rounds.get(last - 1, ()))

    def _longest_s(self, task: str) -> float:
        """Return the length of the longest round after the first; 0 where there is none."""
        ends = [max(times) for _, times in sorted(self._came[task].items())]
        return max((later - sooner for sooner, later in pairwise(ends)), default=0.0)
