# SPDX-License-Identifier: Apache-2.0
"""Keeps several runs of the tests on one machine apart: each has names for its labs that no other has."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from . import CACHE, STATE, LabError
from .labs import Lab

_SLOTS = 64


@contextmanager
def slot() -> Iterator[str]:
    """Claim a prefix for the names of a test run's labs, as long as the run lives.

    What a killed run left under the same prefix is cleared away first.

    Raises:
        LabError: all are taken.
    """
    folder = CACHE / "slots"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(_SLOTS):
        with (folder / str(number)).open("a") as claim:
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            prefix = f"test{number}-"
            _clear(prefix)
            yield prefix
            return
    raise LabError(f"{_SLOTS} runs of the tests are under way here. Fix: wait for one of them.")


def _clear(prefix: str) -> None:
    for folder in STATE.glob(f"{prefix}*"):
        Lab(folder.name).down()
