# SPDX-License-Identifier: Apache-2.0
"""Detached work that waits in the queue of a batch system, which a room knows by its module ``queue``.

The record of a job names the room, whose module has a `Queue` as ``QUEUE``. Standard library alone.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from . import storage
from .rooms import load_room

JOB = "queue.json"
"""The job of a folder."""
NOTICE_S = 120
"""A batch system asks a job to end so long before its time is over, or up to a minute earlier."""


class QueueError(RuntimeError):
    """A batch system does not take a job; the text is one sentence with the fix."""


class Queue(Protocol):
    """A batch system, as what runs detached needs it."""

    def submit(
        self, folder: Path, command: list[str], asked: Mapping[str, Any], environ: Mapping[str, str]
    ) -> str:
        """Queue a command as the job of ``folder``, and return the job's name.

        Args:
            folder: for the batch script and what it prints, on a disk that all nodes share.
            command: what the job becomes on its first node.
            asked: an Allocation.
            environ: what the job has as its variables.

        Raises:
            QueueError: it is refused.
            OSError: the script cannot be written.
        """

    def is_held(self, folder: Path) -> bool:
        """Whether the job of ``folder`` waits or works; also if nobody answers."""

    def cancel(self, folder: Path) -> None:
        """Cancel the job of ``folder``."""

    def list_nodes(self) -> tuple[str, ...]:
        """Return the machines of the job that this process is in, this one first.

        Raises:
            QueueError: nobody says.
        """

    def make_launch(self, node: str, command: list[str]) -> list[str]:
        """Return what runs a command on one machine of the job that this process is in."""

    def read_state(self, folder: Path, read: Callable[[], str]) -> tuple[str, str]:
        """Return whether the job of ``folder`` is ``held``, ``free`` or ``unknown``, and its progress record.

        Args:
            folder: of a run, or of builds.
            read: returns the record that is there, or nothing. It counts unless the job waits, is suspended,
                could never start, or was ended before it could record its end; a run is then judged.
        """


def submit_job(
    folder: Path, command: list[str], asked: Mapping[str, Any], environ: Mapping[str, str]
) -> None:
    """Queue a command as the job of ``folder``, as `Queue.submit` does, and keep its record there."""
    job = load_queue(asked["room"]).submit(folder, command, asked, environ)
    storage.write_file(folder / JOB, json.dumps({"room": asked["room"], "job": job}).encode())


def is_queued(folder: Path) -> bool:
    """Whether the job of ``folder`` waits or works."""
    queue = find_queue(folder)
    return queue is not None and queue.is_held(folder)


def cancel_queued(folder: Path) -> None:
    """Cancel the job of ``folder``, if it has one."""
    if queue := find_queue(folder):
        queue.cancel(folder)


def find_queue(folder: Path) -> Queue | None:
    """Return the batch system that has the job of ``folder``; None if none that is known has one."""
    try:
        return load_queue(_field(folder, "room"))
    except ImportError:
        return None


def name_job(folder: Path) -> str:
    """Return the name of the job of ``folder``; nothing without one."""
    return _field(folder, "job")


def _field(folder: Path, name: str) -> str:
    try:
        return str(json.loads((folder / JOB).read_bytes())[name])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def load_queue(room: str) -> Queue:
    """Return the batch system that a room knows.

    Raises:
        ImportError: it knows none.
    """
    return cast("Queue", load_room(room, "queue").QUEUE)
