# SPDX-License-Identifier: Apache-2.0
"""An allocation as the place of a run: SLURM queues, suspends and ends it, on one or several nodes."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

from rekindle.driver.places import Nodes, Place, PlaceError
from rekindle.host import queues
from rekindle.records import Allocation, RunSpec, dump_builtins
from rekindle.trainer.sites import LAUNCHER

from .allocation import ASKING_S, take_allocation
from .clock import SuspendedClock
from .guard import guard_run
from .nodes import AllocatedNodes
from .queue import measure_wait, record_end

_LEAST_S = 60


class SlurmPlace(Place):
    """What SLURM gives a run."""

    alone = False

    @classmethod
    def is_for(cls, spec: RunSpec) -> bool:
        """Whether SLURM is to give the run its nodes."""
        return spec.allocation is not None and spec.allocation.room == "slurm"

    @property
    def asked(self) -> Allocation:
        """What SLURM is asked for."""
        return cast("Allocation", self.spec.allocation)  # else there is no allocation

    def start(self, command: list[str], lock: BinaryIO, environ: Mapping[str, str]) -> None:
        """Queue the driver; it becomes the batch script on the first node."""
        asked = dump_builtins(self.asked)
        try:
            queues.submit_job(self.run_dir, [sys.executable, "-m", *command], asked, environ)
        except queues.QueueError as error:
            raise PlaceError(str(error)) from None

    def is_held(self) -> bool:
        """Whether the run's job is in the queue or on its nodes; also if SLURM does not answer."""
        return queues.is_queued(self.run_dir) or super().is_held()

    def cancel(self) -> None:
        """Take the run's job out of the queue, or off its nodes."""
        queues.cancel_queued(self.run_dir)
        super().cancel()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Keep a guard beside the driver, which SLURM may kill."""
        with super().guard(), guard_run(self.run_dir):
            yield

    def measure_wait(self) -> float | None:
        """Return how long the job was in the queue."""
        return measure_wait(self.run_dir)

    def allocate(self) -> None:
        """Have the spec name the nodes and GPUs of the allocation that this process is in."""
        super().allocate()
        self.spec = take_allocation(self.run_dir, self.spec, self.asked.nodes)

    @property
    def patience_s(self) -> float:
        """What is left of the allocation when the job and its end have their time."""
        return max(_LEAST_S, self.asked.time_s - self.spec.job.limit_s - queues.NOTICE_S - ASKING_S)

    def variables(self) -> dict[str, str]:
        """Return what starts a site's ranks on several nodes."""
        more = {LAUNCHER: "rekindle.slurm.launch"} if self.spec.nodes else {}
        return {**super().variables(), **more}

    def clock(self) -> SuspendedClock:
        """Return a clock that stands while SLURM has the run suspended."""
        return SuspendedClock(self.run_dir)

    def nodes(self) -> Nodes:
        """Return the nodes of the allocation."""
        return AllocatedNodes(self.run_dir, self.spec) if self.spec.nodes else super().nodes()

    def describe_end(self) -> str | None:
        """Return SLURM's reason, and keep its description of the job in the run's folder."""
        with suppress(OSError):
            return record_end(self.run_dir)
        return None


KIND = SlurmPlace
