# SPDX-License-Identifier: Apache-2.0
"""Where a run goes on: on this machine, unless a room has another kind of place for it.

A room of the package registers a kind by its module ``place``, whose ``KIND`` is a `Place`: its methods do
what is special to it, and go on with ``super()``. The driver knows no room by its name.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import psutil

from rekindle.host import background, folders
from rekindle.host.rooms import load_rooms
from rekindle.records import RunSpec
from rekindle.records.events import GpuSample

from .clock import RunClock
from .processes import find_descendants
from .progress import Reporter
from .snapshot import Snapshot


class PlaceError(RuntimeError):
    """A place does not take a run, or a part of it takes no part; one sentence."""


class Nodes:
    """The machines of a run, as its driver on the first of them sees them: here this one alone."""

    def start(self) -> None:
        """Begin to look at the others."""

    def check(self) -> None:
        """Check that each of the others is looked at.

        Raises:
            PlaceError: one takes no part in the run.
        """

    def processes(self) -> list[psutil.Process]:
        """Return the run's processes on this machine."""
        return find_descendants()

    def samplers(self) -> list[psutil.Process]:
        """Return processes here that only look at the others, and outlive the job's."""
        return []

    def join(self, now: Snapshot, gpus: Mapping[str, GpuSample]) -> tuple[Snapshot, dict[str, GpuSample]]:
        """Return this machine's snapshot and GPU samples, with the newest of the others."""
        return now, dict(gpus)

    def autopsy(self) -> None:
        """Run an autopsy on each of the others that answers; it never fails."""

    def end(self) -> None:
        """End what is left of the run on all of them."""


class Place:
    """This machine: a run's processes descend from its driver."""

    alone = True
    """Whether no other run of the same root can go on elsewhere."""
    climbs = True
    """Whether the blame ladder of a run that failed is climbed here."""

    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        """Take the folder of a run, and what is to be run."""
        self.run_dir, self.spec = run_dir, spec

    @classmethod
    def is_for(cls, spec: RunSpec) -> bool:
        """Whether a run of ``spec`` goes on in this kind of place."""
        return True

    def start(self, command: list[str], lock: BinaryIO, environ: Mapping[str, str]) -> None:
        """Start the driver, detached from this session.

        Args:
            command: the module and its arguments.
            lock: the run's, which the driver keeps.
            environ: the driver's variables.

        Raises:
            PlaceError: the place does not take it.
        """
        background.start_module(command, lock, self.run_dir / folders.DRIVER_LOG, environ)

    def is_held(self) -> bool:
        """Whether the run waits or goes on, though nobody has its lock."""
        return False

    def cancel(self) -> None:
        """Give up a run that waits."""

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Have the run's processes end with the driver, however it ends."""
        yield

    def measure_wait(self) -> float | None:
        """Return how long the run waited for its place; None if it did not, or nobody knows."""
        return None

    def allocate(self) -> None:
        """Complete the spec by what the run was given.

        Raises:
            PlaceError: that is less than it needs, or nobody says.
        """

    @property
    def patience_s(self) -> float | None:
        """How long the run may wait here for others; None: it does not, as its time is not limited."""
        return None

    def prepare(self, reporter: Reporter) -> None:
        """Make everything ready for the job's start.

        Args:
            reporter: is told meanwhile what the run waits for.

        Raises:
            PlaceError: something cannot be made ready.
        """

    def variables(self) -> dict[str, str]:
        """Return what the run's processes have in their environment beside all others."""
        return {}

    def clock(self) -> RunClock:
        """Return a clock that begins now, and stands while the run is suspended."""
        return RunClock()

    def nodes(self) -> Nodes:
        """Return the run's machines, none of which has a process of it yet."""
        return Nodes()

    def refusal(self) -> str | None:
        """Return why the job may not start, one sentence with its fix."""
        return None

    def rests(self) -> bool:
        """Whether the run waits for others to move first, so that its silence says nothing."""
        return False

    def describe_end(self) -> str | None:
        """Return why the driver was told to stop; None if nobody says."""
        return None


def find_place(run_dir: Path, spec: RunSpec) -> Place:
    """Return the place of the run of ``spec`` in ``run_dir``; several kinds of it go together."""
    kinds = tuple(room.KIND for room in load_rooms("place") if room.KIND.is_for(spec))
    together: type[Place] = type("Together", kinds, {}) if kinds else Place
    return together(run_dir, spec)
