# SPDX-License-Identifier: Apache-2.0
"""This host's InfiniBand and Ethernet ports, by the kernel: state, rate, and what they count of errors."""

import re
from pathlib import Path
from typing import Any, NamedTuple

CLASSES = Path("/sys/class")
FLAPS = ("link_downed", "carrier_changes")
"""Counters of a link that came or went."""
_COUNTERS = (
    *FLAPS,
    *("symbol_error", "link_error_recovery", "port_rcv_errors", "port_rcv_remote_physical_errors"),
    *("port_xmit_constraint_errors", "port_rcv_constraint_errors"),
    *("local_link_integrity_errors", "excessive_buffer_overrun_errors"),
    *("packet_seq_err", "local_ack_timeout_err", "rx_icrc_encapsulated"),
    *("rx_errors", "tx_errors"),
)
_PLACES = ("counters", "hw_counters", "statistics", ".")
_MOST = 64


class HostPort(NamedTuple):
    """A port at one moment."""

    name: str
    """``mlx5_0/1``, ``eth0``."""
    layer: str
    """``InfiniBand`` or ``Ethernet``."""
    state: str
    """``ACTIVE``, ``up``."""
    link: str
    """``LinkUp``, ``Polling``; empty where only the state is known."""
    gbit_s: float | None
    counts: dict[str, int]
    """Those that it has, since the driver was loaded."""


def list_ports(classes: Path = CLASSES) -> list[HostPort]:
    """Return the ports of network cards by ``/sys/class``; a virtual one is none."""
    ports = []
    for port in sorted(classes.glob("infiniband/*/ports/*")):
        state, link = (_read(port / name).rpartition(": ")[2] for name in ("state", "phys_state"))
        name, rate = f"{port.parents[1].name}/{port.name}", _number(_read(port / "rate"))
        ports.append(HostPort(name, _read(port / "link_layer"), state, link, rate, _count(port)))
    for card in sorted(classes.glob("net/*")):
        if (card / "device").exists():
            speed = _number(_read(card / "speed"))  # in Mbit/s; none, or -1, of a link that is down
            rate, state = speed / 1000 if speed else None, _read(card / "operstate")
            ports.append(HostPort(card.name, "Ethernet", state, "", rate, _count(card)))
    return ports[:_MOST]


def watch_ports(began: list[HostPort], classes: Path = CLASSES) -> list[dict[str, Any]]:
    """Return each port as it is now, with the counters that grew since it ``began``: the fields of a Port."""
    before = {port.name: port.counts for port in began}
    return [
        {
            "name": port.name,
            "state": port.state,
            "gbit_s": port.gbit_s,
            "grew": {
                name: count - before[port.name][name]
                for name, count in port.counts.items()
                if count > before.get(port.name, {}).get(name, count)
            },
        }
        for port in list_ports(classes)
    ]


def _count(port: Path) -> dict[str, int]:
    texts = ((name, _read(port / place / name)) for name in _COUNTERS for place in _PLACES)
    return {name: int(text) for name, text in texts if text.isdecimal()}


def _number(text: str) -> float | None:
    found = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,3})?", text)
    return float(found[0]) if found else None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[:200]
    except OSError:
        return ""
