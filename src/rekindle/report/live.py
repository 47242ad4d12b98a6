# SPDX-License-Identifier: Apache-2.0
"""The table of a run that goes on, drawn again and again: for ``rekindle watch``, and inside a run.

The cursor stays at the table's beginning, so that others can write in its place: it is drawn anew below.
"""

import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rekindle.records import RecordError
from rekindle.records.text import ERASE
from rekindle.results.progress import RunProgress, watch_results

from .table import measure_terminal
from .watch import format_watch

_PERIOD_S = 1.0
_SHARE = 4
"""Of the time, one part in so many at most goes into reading."""


def draw_run(run: RunProgress) -> None:
    """Draw a run from the cursor's line on, within the terminal, and leave the cursor there."""
    (width, colour), height = measure_terminal(), shutil.get_terminal_size().lines
    console = Console()
    with console.capture() as capture:
        console.print(Text.from_ansi(format_watch(run, width, height, colour)))
    lines = capture.get().splitlines()[: height - 1]
    _write("\r", ERASE, *(f"{line}\n" for line in lines), f"\x1b[{len(lines)}A")


def erase_run() -> None:
    """Take what `draw_run` drew away."""
    _write("\r", ERASE)


def _write(*parts: str) -> None:
    """Write at once, so that nothing of others comes in between."""
    print("".join(parts), end="", flush=True)


def choose_pause(began: float) -> float:
    """Return how long to wait before a run is read again, which began at ``began`` the last time."""
    return max(_PERIOD_S, _SHARE * (time.monotonic() - began))


def main() -> None:
    """Draw the run in the folder that is named until this is killed, or who started it has ended."""
    parent = os.getppid()
    with suppress(RecordError):
        while os.getppid() == parent:
            began = time.monotonic()
            draw_run(watch_results(Path(sys.argv[1])))
            time.sleep(choose_pause(began))
    _write(ERASE)  # and not what a shell has written at the cursor since
