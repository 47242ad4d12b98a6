# SPDX-License-Identifier: Apache-2.0
"""Identifies NVFlare's own processes by their command lines: of the simulator, and of a federation."""

import re
from collections.abc import Sequence
from itertools import pairwise

_APP = "nvflare.private.fed.app"
_SERVERS = {f"{_APP}.simulator.simulator", f"{_APP}.server.server_train", f"{_APP}.server.runner_process"}
_CLIENTS = {
    f"{_APP}.simulator.simulator_worker": "--client",
    f"{_APP}.client.worker_process": "-c",
}
"""The modules, each with its option for the site's name."""
_PARENT = f"{_APP}.client.client_train"
"""The process of a federation's site that starts one of those for each job; it has the name as uid=NAME."""
_SHOWN_CLIENT = re.compile(r"simulator_worker[^\n]{0,500}? --client (\S{1,80})")


def find_member(command: Sequence[str]) -> str | None:
    """Return ``server``, or the name of the client's site; None if the process is neither.

    Args:
        command: the words of a process's command line.
    """
    for module in _CLIENTS.keys() & set(command):
        return next((site for option, site in pairwise(command) if option == _CLIENTS[module]), None)
    if _PARENT in command:
        return next((word.removeprefix("uid=") for word in command if word.startswith("uid=")), None)
    return "server" if _SERVERS & set(command) else None


def find_client(text: str) -> str | None:
    """Return the site of the client whose command line ``text`` shows; None if it shows none."""
    shown = _SHOWN_CLIENT.search(text)
    return shown[1] if shown else None
