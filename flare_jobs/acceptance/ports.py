# SPDX-License-Identifier: Apache-2.0
"""Which of the host's InfiniBand ports are down, by the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_LINKED = {"LinkUp", "LinkErrorRecovery", "PortConfigurationTraining"}
"""Physical states of a port that has another at the end of its cable."""


def measure(devices: Path = Path("/sys/class/infiniband")) -> list[dict[str, Any]]:
    """Return how many ports are not active; nothing where there is no InfiniBand port.

    Its norm is how many of these have no link: nobody may ever have put a cable in. Ports for Ethernet are
    left out, as their second one is free on many hosts.
    """
    ports = {
        f"{port.parents[1].name}/{port.name}": tuple(
            _content(port / name).rpartition(": ")[2] for name in ("state", "phys_state")
        )
        for port in sorted(devices.glob("*/ports/*"))
        if _content(port / "link_layer") == "InfiniBand"
    }
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


def _content(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
