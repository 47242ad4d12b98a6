# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.federation.site JOB``: NVFlare's client of this site, until its server ends it."""

import os
import socket
import sys
import time
from pathlib import Path

from rekindle.trainer.variables import WORKSPACE

from .member import read_member
from .parent import Parent, move_logs

_LOOK_S = 5.0
_REFUSED_S = 20.0
"""For a server that was there: its host answers that nothing listens any more."""
_SILENT_S = 150.0
"""For a host that does not answer at all: NVFlare survives a link that is down for a minute or more."""
_FIRST_S = 300.0
"""Until the server listens for the first time."""


class Server:
    """What a site sees of its federation's server, by looking at its port."""

    def __init__(self, address: str, port: int) -> None:
        """Nothing was seen yet."""
        self._at, self._there = (address, port), False
        self._good = self._looked = time.monotonic()
        self._why = "has not answered"

    def find_lost(self) -> str | None:
        """Return why the server counts as lost; None as long as it does not."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return None
        self._looked, limit = now, _FIRST_S
        try:
            socket.create_connection(self._at, timeout=_LOOK_S).close()
            self._good, self._there = time.monotonic(), True
            return None
        except ConnectionRefusedError:
            self._why, limit = "refuses connections", _REFUSED_S
        except OSError as error:
            self._why, limit = f"does not answer ({error.strerror or error})", _SILENT_S
        silent = now - self._good
        if silent <= (limit if self._there else _FIRST_S):
            return None
        return f"The server at {self._at[0]}:{self._at[1]} {self._why} for {silent:.0f} s."


def main() -> int:
    """Run the client until its server ends it, or is lost."""
    mine, job = read_member(), sys.argv[1]
    server, why = Server(mine["address"], mine["port"]), None
    with Parent(mine) as parent:
        while parent.poll() is None and why is None:
            why = server.find_lost()
            parent.wait(0.2)
        if why:
            parent.end()
        for folder in parent.folder.glob("*/app_*"):
            move_logs(folder.parent, Path(os.environ[WORKSPACE], job, mine["name"]))
    why = why or parent.has_ended(f"NVFlare's client of {mine['name']}")
    if why:
        print(why, file=sys.stderr, flush=True)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
