# SPDX-License-Identifier: Apache-2.0
"""The offset of a host's clock from the controller's."""

import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rekindle.records import Clock, RecordError, check_bounds, format_time

TIME = "import time; print(time.time())"


def ask_clock(execute: Callable[[str], dict[str, Any]], python: str, trips: int = 1) -> Clock | None:
    """Return the clock of a host by the shortest of a few round trips; None if the host does not answer.

    Args:
        execute: runs a command on the host.
        python: interpreter there.
        trips: number of round trips.
    """
    clocks = []
    for _ in range(trips):
        began = time.time()
        answer = execute(f"{shlex.quote(python)} -ISc {shlex.quote(TIME)}")
        ended = time.time()
        with suppress(ValueError, RecordError):
            there = float(take_last_line(answer))
            offset, error = there - (began + ended) / 2, (ended - began) / 2
            clocks.append(check_bounds(Clock(offset_s=offset, error_s=error, asked=format_time())))
    return min(clocks, key=lambda clock: clock.error_s, default=None)


def take_last_line(answer: dict[str, Any]) -> str:
    """Return the last line that a command printed: a login may print others before it."""
    return next(iter(reversed(str(answer["stdout"]).splitlines())), "")
