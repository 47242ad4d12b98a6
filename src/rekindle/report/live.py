# SPDX-License-Identifier: Apache-2.0
"""The table of a run that goes on, drawn again and again: for ``rekindle watch``, and inside a run.

Inside a run it is a process of its own, which `rekindle.actions.live` starts: Ansible forks, and is busy.
"""

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rekindle.records import RecordError
from rekindle.results.watched import Snapshot, snapshot

from .table import terminal
from .watch import watch_text

_PERIOD_S = 1.0
_SHARE = 4
"""Of the time, one part in so many at most goes into reading."""


class Table(Live):
    """The hosts of a run on the terminal; nothing is left of it in the end."""

    def __init__(self) -> None:
        """Begin with an empty one."""
        super().__init__(console=Console(), auto_refresh=False, transient=True)

    def show(self, run: Snapshot) -> None:
        """Draw a run, at most as high as the terminal."""
        (width, colour), height = terminal(), shutil.get_terminal_size().lines
        self.update(Text.from_ansi(watch_text(run, width, height, colour)), refresh=True)


def pause_s(began: float) -> float:
    """Return how long to wait before a run is read again, which began at ``began`` the last time."""
    return max(_PERIOD_S, _SHARE * (time.monotonic() - began))


def main(folder: str) -> None:
    """Show the run in ``folder`` until an empty text comes, or who started this has ended."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())  # the cursor shows again
    parent, texts = os.getppid(), _texts()
    with suppress(RecordError), Table() as table:
        while os.getppid() == parent:
            began = time.monotonic()
            table.show(snapshot(Path(folder)))
            ends = time.monotonic() + pause_s(began)
            while (left := ends - time.monotonic()) > 0 and select.select([sys.stdin], [], [], left)[0]:
                for text in next(texts):
                    if not text:
                        return
                    table.console.print(Text.from_ansi(text), soft_wrap=True)


def _texts() -> Iterator[list[str]]:
    """Return what can be read of standard input now, again and again: texts that end in a NUL each."""
    rest = b""
    while read := os.read(sys.stdin.fileno(), 1 << 16):
        *texts, rest = (rest + read).split(b"\0")
        yield [text.decode(errors="replace") for text in texts]
    yield [""]
