# SPDX-License-Identifier: Apache-2.0
"""The live view of a run on a terminal, in place of the lines of Ansible: `rekindle.report.live` draws it."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import ansible.release
from ansible import constants, context
from ansible.utils.display import Display

from rekindle.records.text import ERASE

_DRAW = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from rekindle.report import live; live.main()"
)
"""Ctrl-C is for Ansible, which then ends the view."""
_LIMIT_S = 10


def is_live_wanted() -> bool:
    """Whether nobody wants or needs the lines: -v, another callback, questions about tasks, no colour.

    Before ansible-core 2.19, ssh asks on the terminal itself, over which nothing may be painted.
    """
    asks = context.CLIARGS.get("step") or constants.ENABLE_TASK_DEBUGGER
    alone = constants.DEFAULT_STDOUT_CALLBACK in {"default", "ansible.builtin.default"}
    detaches = tuple(int(part) for part in ansible.release.__version__.split(".")[:2]) >= (2, 19)
    return bool(alone and detaches and not asks and not Display().verbosity and "NO_COLOR" not in os.environ)


class View:
    """A table of the hosts; Ansible's standard error appears above it, and the rest in its log.

    A process draws it, as Ansible is busy, and forks.
    """

    def __init__(self, folder: Path) -> None:
        """Begin to show the run in ``folder``.

        Raises:
            OSError: no process can be started.
        """
        self._display, self._us = Display(), os.getpid()
        self._write = self._display.display
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _DRAW, folder],
            stdin=subprocess.DEVNULL,
            stdout=sys.stdout,  # named, as Ansible lets no process inherit them
            stderr=sys.stderr,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._display.display = self._shown

    def _shown(self, msg: str, color: str | None = None, stderr: bool = False, **more: Any) -> None:
        if os.getpid() == self._us and self._process.poll() is not None:
            self.end()
        elif os.getpid() == self._us and not stderr:
            more["log_only"] = True
        elif os.getpid() == self._us and sys.stderr.isatty():
            print(f"\r{ERASE}", end="", flush=True)
        self._write(msg, color, stderr, **more)

    def end(self) -> None:
        """Take the table away, and leave the terminal to Ansible's lines; again, it does nothing."""
        if self._display.display == self._shown:
            self._display.display = self._write
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LIMIT_S)
            print(f"\r{ERASE}", end="", flush=True)
