# SPDX-License-Identifier: Apache-2.0
"""The clock of a run."""

import time

from rekindle.records import Suspension


class RunClock:
    """Seconds since a run began in which it was not suspended; to be read about once a second."""

    def __init__(self) -> None:
        """Start it."""
        self._before, self._elapsed = time.monotonic(), 0.0
        self.suspensions: list[Suspension] = []

    def read(self) -> float:
        """Return the seconds."""
        now = time.monotonic()
        gap, self._before = now - self._before, now
        if not self.take_suspension(gap):
            self._elapsed += gap
        return self._elapsed

    def take_suspension(self, gap_s: float) -> bool:
        """Take down that the run was suspended in the ``gap_s`` before now; return whether it was."""
        return False
