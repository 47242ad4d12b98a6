"""Identifies NVFlare's own processes by their command lines: the simulator's server and sites' clients."""

import re
from collections.abc import Sequence
from itertools import pairwise

_SERVER = "nvflare.private.fed.app.simulator.simulator"
_CLIENT = f"{_SERVER}_worker"
_SHOWN_CLIENT = re.compile(r"simulator_worker[^\n]{0,500}? --client (\S{1,80})")


def member(command: Sequence[str]) -> str | None:
    """Return ``server``, or the name of the client's site; None if the process is neither.

    Args:
        command: the words of a process's command line.
    """
    if _CLIENT in command:
        return next((site for option, site in pairwise(command) if option == "--client"), None)
    return "server" if _SERVER in command else None


def client_in(text: str) -> str | None:
    """Return the site of the client whose command line ``text`` shows; None if it shows none."""
    shown = _SHOWN_CLIENT.search(text)
    return shown[1] if shown else None
