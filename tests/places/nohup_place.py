# SPDX-License-Identifier: Apache-2.0
"""A toy scheduler as the place of runs: a queue made of nohup, in which runs wait for a gate to open."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from rekindle.driver.places import Place, PlaceError

TICKET, GATE = "nohup.ticket", "gate"


class Queue(Place):
    """Every run waits in a file's shadow until somebody makes its gate."""

    alone = False

    def start(self, command: list[str], lock: BinaryIO, environ: Mapping[str, str]) -> None:
        """Queue the driver."""
        gate, driver = self.run_dir.parent / GATE, shlex.join([sys.executable, "-m", *command])
        script = f"while ! [ -e {shlex.quote(str(gate))} ]; do sleep 0.1; done; exec {driver}"
        try:
            with (self.run_dir / "nohup.log").open("wb") as log:
                process = subprocess.Popen(
                    ["nohup", "sh", "-c", script],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**environ, "QUEUED_AT": str(time.time())},
                    start_new_session=True,
                )
        except OSError as error:
            raise PlaceError(f"nohup does not take {self.run_dir.name}: {error.strerror}.") from None
        (self.run_dir / TICKET).write_text(str(process.pid))

    def is_held(self) -> bool:
        """Whether the run's process is there."""
        return bool(self._pid) and Path(f"/proc/{self._pid}").exists()

    def cancel(self) -> None:
        """End the run's process."""
        if self.is_held():
            os.killpg(self._pid, signal.SIGKILL)

    def measure_wait(self) -> float | None:
        """Return how long the run was in the queue."""
        return time.time() - float(os.environ["QUEUED_AT"])

    def variables(self) -> dict[str, str]:
        """Name the queue."""
        return {**super().variables(), "QUEUE": "nohup"}

    @property
    def _pid(self) -> int:
        with suppress(OSError, ValueError):
            return int((self.run_dir / TICKET).read_text())
        return 0


KIND = Queue
