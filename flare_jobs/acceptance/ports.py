# SPDX-License-Identifier: Apache-2.0
"""Which of the host's InfiniBand ports are down, by the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rekindle.host.ports import CLASSES, list_ports

_LINKED = {"LinkUp", "LinkErrorRecovery", "PortConfigurationTraining"}
"""Physical states of a port that has another at the end of its cable."""


def measure(classes: Path = CLASSES) -> list[dict[str, Any]]:
    """Return how many ports are not active; nothing where there is no InfiniBand port.

    Its norm is how many of these have no link: nobody may ever have put a cable in. Ports for Ethernet are
    left out, as their second one is free on many hosts.
    """
    there = (port for port in list_ports(classes) if port["layer"] == "InfiniBand")
    ports = {port["name"]: (port["state"], port["link"]) for port in there}
    if not ports:
        return []
    down = {name: states for name, states in ports.items() if states[0] != "ACTIVE"}
    details = "".join(f", {name} is {state} ({link})" for name, (state, link) in down.items())
    figure = {
        "name": "infiniband_ports_down",
        "value": float(len(down)),
        "unit": "ports",
        "message": f"of {len(ports)} InfiniBand ports{details}",
        "norm": float(sum(link not in _LINKED for _, link in down.values())),
        "source": "those without a link, in which there may never have been a cable",
    }
    return [figure]
