# SPDX-License-Identifier: Apache-2.0
"""Whether a participant of a federation may start, and works or waits for others, by what NVFlare prints."""

import re
import time
from pathlib import Path

from rekindle.flare.tasks import CAME, GIVEN
from rekindle.host import files
from rekindle.reach import Trouble
from rekindle.reach.kit import Kit

from .records import Participant

_GOT = re.compile(r"got task assignment: name=\S{1,200}, id=(\S{1,200})")
_SENT = "task result sent to server"


def find_kit_flaw(name: str, participant: Participant) -> str | None:
    """Return why its kit is not valid by this host's clock; NVFlare 2.9 would wait forever in silence."""
    try:
        Kit(Path(participant.kit), "server" if participant.role == "server" else "client").require(
            f"{participant.role}'s", time.time()
        )
    except Trouble as trouble:
        return f"{name}: {trouble.message} Fix: {trouble.fix}"
    return None


class Assignment:
    """The tasks that a participant has to do; read from its log line by line, each once."""

    def __init__(self, log: Path, role: str) -> None:
        """Begin at the start of the log of a ``server`` or ``site``."""
        self._log, self._begun = files.Tail(log), False
        self._take = self._of_server if role == "server" else self._of_site
        self._serves = role == "server"
        self._open: set[str] = set()

    def waits(self) -> bool:
        """Whether others have to move first: a site without a task, or a server whose sites have one.

        Before the first task the server waits for sites, and they for it.
        """
        for line in self._log.lines():
            self._take(line.decode("utf-8", "replace").replace("\x1b[0m", "").rstrip())
        return not self._begun or bool(self._open) is self._serves

    def _of_server(self, line: str) -> None:
        if match := GIVEN.search(line):
            self._begun = True
            self._open.add(match[3])
        elif match := CAME.search(line):
            self._open.discard(match[3])

    def _of_site(self, line: str) -> None:
        if match := _GOT.search(line):
            self._begun = True
            self._open.add(match[1])
        elif _SENT in line:
            self._open.clear()
