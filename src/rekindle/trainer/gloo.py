# SPDX-License-Identifier: Apache-2.0
"""Lets gloo's threads come to rest before Python ends.

A thread of gloo's takes Python's lock to release a collective's tensors, after it has reported that the
collective is over. If Python is ending by then, the process aborts with all of its work done ("terminate
called without an active exception", pytorch/pytorch issue 190489; PyTorch 2.11 and 2.13 do so).
``destroy_process_group`` does not help where DistributedDataParallel keeps the group, and so the threads.
"""

import atexit
import time
from contextlib import suppress
from pathlib import Path

_POLL_S = 0.005
_POLLS = 2
"""At rest in so many in a row: in between Python is free for a thread that was waiting for it."""
_LIMIT_S = 10.0


def wait_at_exit() -> None:
    """Make this process wait, as it ends, until its collectives are over."""
    atexit.register(_rest)


def _rest() -> None:
    """Wait until all of gloo's threads sleep, for ``_LIMIT_S`` at most."""
    end, quiet = time.monotonic() + _LIMIT_S, 0
    while quiet < _POLLS and time.monotonic() < end:
        time.sleep(_POLL_S)
        quiet = 0 if any(map(_is_busy, Path("/proc/self/task").iterdir())) else quiet + 1


def _is_busy(thread: Path) -> bool:
    with suppress(OSError):  # it has ended
        name, _, state = (thread / "stat").read_text(encoding="utf-8").rpartition(") ")
        return "gloo" in name and not state.startswith("S")
    return False
