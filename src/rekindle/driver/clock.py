# SPDX-License-Identifier: Apache-2.0
"""The clock of a run, which stops while SLURM has the run suspended."""

import time
from pathlib import Path

from rekindle.host import slurm
from rekindle.records import Suspension

_GAP_S = 5.0
"""Between two readings, usually a second apart; SLURM is asked about a longer gap."""


class Clock:
    """Seconds since a run began in which it was not suspended; to be read about once a second."""

    def __init__(self, folder: Path | None) -> None:
        """Start it, for the run in ``folder``; None where no SLURM can suspend it."""
        self._folder = folder
        self._resumed = slurm.resumed(folder) if folder else ""
        self._before, self._elapsed = time.monotonic(), 0.0
        self.suspensions: list[Suspension] = []

    def read(self) -> float:
        """Return the seconds."""
        now = time.monotonic()
        gap, self._before = now - self._before, now
        before = self._resumed
        if self._folder and gap > _GAP_S:
            self._resumed = slurm.resumed(self._folder) or before
        if self._resumed != before:
            until = time.time()
            if len(self.suspensions) < Suspension.MOST:
                self.suspensions.append(Suspension(since=round(until - gap, 3), until=round(until, 3)))
        else:
            self._elapsed += gap
        return self._elapsed
