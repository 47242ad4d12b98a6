# SPDX-License-Identifier: Apache-2.0
"""The clock of a run, which stands while SLURM has the run suspended."""

import time
from pathlib import Path

from rekindle.driver.clock import RunClock
from rekindle.records import Suspension

from .queue import find_resumed

_GAP_S = 5.0
"""Between two readings, usually a second apart; SLURM is asked about a longer gap."""


class SuspendedClock(RunClock):
    """Seconds in which SLURM let the run go on."""

    def __init__(self, folder: Path) -> None:
        """Start it, for the run in ``folder``."""
        super().__init__()
        self._folder, self._resumed = folder, find_resumed(folder)

    def take_suspension(self, gap_s: float) -> bool:
        """Ask SLURM about a long gap."""
        before = self._resumed
        if gap_s > _GAP_S:
            self._resumed = find_resumed(self._folder) or before
        if self._resumed == before:
            return False
        until = time.time()
        if len(self.suspensions) < Suspension.MOST:
            self.suspensions.append(Suspension(since=round(until - gap_s, 3), until=round(until, 3)))
        return True
