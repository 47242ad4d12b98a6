# SPDX-License-Identifier: Apache-2.0
"""What NCCL reports of the network and of errors, with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET."""

import re
from collections.abc import Callable, Iterator

_CHANNEL = re.compile(
    r"Channel \d{1,4}/\d{1,4} : (?P<one>\d{1,6})\[\w{1,16}\] -> (?P<other>\d{1,6})\[\w{1,16}\] "
    r"\[(?:send|receive)\] via NET/(?P<net>[^/\n]{1,40})/(?P<device>\d{1,4})(?P<direct>/GDRDMA)?"
)
"""``GDRDMA`` (GPUDirect RDMA): the network card reads and writes the GPU's memory itself."""
_NAMES = {"Socket": "TCP", "IB": "InfiniBand"}
_LINK = re.compile(r"\[(?P<device>\d{1,4})\](?P<name>[\w.-]{1,40}):\d{1,4}/(?P<link>IB|RoCE)\b")
"""NET/IB's list of devices: ``[0]mlx5_0:1/RoCE``."""
_INTERFACE = re.compile(r"\[(?P<device>\d{1,4})\](?P<name>[\w.-]{1,40}):[0-9a-fA-F.:%]{1,60}<\d{1,5}>")
"""NET/Socket's: ``[0]eth0:192.0.2.2<0>``."""

_WARNING = re.compile(r" NCCL WARN (?P<message>[^\n]{1,200})")


def find_warning(log: str) -> str | None:
    """Return the first warning, which is the reason of an error that torch repeats without it."""
    found = _WARNING.search(log)
    return found["message"] if found else None


def find_transports(log: str, crosses: Callable[[int, int], bool]) -> Iterator[tuple[str, str]]:
    """Yield how ranks sent to each other, ``RoCE with GPUDirect RDMA`` or ``TCP``, and the card's name.

    Args:
        log: of one rank.
        crosses: whether two ranks are on different machines.
    """
    links = {match["device"]: (match["link"], match["name"]) for match in _LINK.finditer(log)}
    cards = {match["device"]: match["name"] for match in _INTERFACE.finditer(log)}
    for match in _CHANNEL.finditer(log):
        if crosses(int(match["one"]), int(match["other"])):
            net, device = match["net"], match["device"]
            link, card = links.get(device, (net, "")) if net.startswith("IB") else (net, "")
            name = _NAMES.get(link, link)
            direct = "with" if match["direct"] else "without"
            card = cards.get(device, "") if name == "TCP" else card
            yield name if name == "TCP" else f"{name} {direct} GPUDirect RDMA", card
