# SPDX-License-Identifier: Apache-2.0
"""This host's InfiniBand and Ethernet ports, by the kernel: state, rate, and what they count of errors."""

import re
from pathlib import Path
from typing import Any

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

PortFields = dict[str, Any]
"""``name`` (``mlx5_0/1``), ``layer`` (``InfiniBand``, ``Ethernet``), ``state`` (``ACTIVE``, ``up``), ``link``
(``LinkUp``, ``Polling``), ``gbit_s`` or None, and ``counts`` since the driver was loaded."""


def list_ports(classes: Path = CLASSES) -> list[PortFields]:
    """Return the ports of network cards by ``/sys/class``; a virtual one is none."""
    ports: list[PortFields] = []
    for port in sorted(classes.glob("infiniband/*/ports/*")):
        state, link = (_read(port / name).rpartition(": ")[2] for name in ("state", "phys_state"))
        fields: PortFields = {
            "name": f"{port.parents[1].name}/{port.name}",
            "layer": _read(port / "link_layer"),
        }
        fields |= {"state": state, "link": link, "gbit_s": _number(_read(port / "rate"))}
        ports.append(fields | {"counts": _count(port)})
    for card in sorted(classes.glob("net/*/device")):
        port = card.parent
        speed = _number(_read(port / "speed"))  # in Mbit/s; none, or -1, of a link that is down
        fields = {"name": port.name, "layer": "Ethernet", "state": _read(port / "operstate"), "link": ""}
        ports.append(fields | {"gbit_s": speed and speed / 1000, "counts": _count(port)})
    return ports


def watch_ports(began: list[PortFields], classes: Path = CLASSES) -> list[PortFields]:
    """Return the fields of each Port as it is now, with what it counted since it ``began``."""
    before = {port["name"]: port["counts"] for port in began}
    ports = []
    for port in list_ports(classes):
        counts = port["counts"].items()
        known = before.get(port["name"], {})
        grew = {name: count - known[name] for name, count in counts if count > known.get(name, count)}
        ports.append({**{name: port[name] for name in ("name", "state", "gbit_s")}, "grew": grew})
    return ports


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
