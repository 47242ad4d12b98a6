"""What differs between releases of NVFlare in a site's log: how it tells of the trainers that it starts."""

from __future__ import annotations

from typing import NamedTuple

_TAKEN = ("got task assignment", "invoking task executor")
_GIVEN_BACK = (
    "finished processing task",
    "start to send task result to server",
    "task result sent to server",
    "Finished one task run",
)


class Wording(NamedTuple):
    """One range of releases; each text is a part of a line."""

    launches: str
    """It starts the trainers."""
    launched: str
    """They have answered."""
    task: tuple[str, ...]
    """Of each task, in this order."""
    trainers: str
    """The logger under which it repeats line by line what they print."""


_OLDER = Wording(
    launches="_start_external_process: launching new subprocess",
    launched="External setup for task (train) succeeded.",
    task=(
        *_TAKEN,
        "sending task to peer",
        "task train sent to peer",
        "received result of train from peer",
        *_GIVEN_BACK,
    ),
    trainers="SubprocessLauncher",
)
_SINCE_2_9 = Wording(
    launches="launching external trainer",
    launched="trainer readiness confirmed",
    task=(
        *_TAKEN,
        "sending TASK_READY for 'train' to trainer",
        "waiting for result from external trainer",
        *_GIVEN_BACK,
    ),
    trainers="ExternalProcessBackend",
)
IN_PROCESS = "TaskScriptRunner"
"""The logger under which a client repeats what a script prints that trains inside it."""
TRAINERS = (_OLDER.trainers, _SINCE_2_9.trainers, IN_PROCESS)


def wording(nvflare: str) -> Wording:
    """Return what a release (``2.7.3``) writes; the oldest that is known if it is no version."""
    numbers = tuple(int(part) for part in nvflare.split(".")[:2] if part.isdecimal() and part.isascii())
    return _SINCE_2_9 if numbers >= (2, 9) else _OLDER
