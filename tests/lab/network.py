# SPDX-License-Identifier: Apache-2.0
"""One bridge a lab, and a namespace with one link to it for each of its hosts."""

import subprocess
from collections.abc import Collection
from pathlib import Path

from .machine import run


def bridge(number: int) -> str:
    """Return the name of a lab's bridge."""
    return f"rekindle{number}"


def address(number: int, ordinal: int) -> str:
    """Return the IPv4 address of a lab's host, which are numbered from 1; 0 is this machine."""
    return f"10.77.{number}.{10 + ordinal if ordinal else 1}"


def make_bridge(number: int) -> None:
    """Make a lab's bridge, with this machine on it, unless it is there."""
    name = bridge(number)
    if not _there(name):
        run("ip", "link", "add", name, "type", "bridge")
        run("ip", "address", "add", f"{address(number, 0)}/24", "dev", name)
        run("ip", "link", "set", name, "up")


def remove_bridge(number: int) -> None:
    """Remove a lab's bridge, if it is there."""
    if _there(bridge(number)):
        run("ip", "link", "delete", bridge(number))


def namespace(number: int, ordinal: int) -> Path:
    """Return where a host's network namespace is."""
    return Path("/run/netns", f"rekindle-{number}-{ordinal}")


def make_namespace(number: int, ordinal: int) -> None:
    """Make a host's namespace and its link to the bridge, unless they are there."""
    path = namespace(number, ordinal)
    if path.exists():
        return
    here = _link(number, ordinal)
    run("ip", "netns", "add", path.name)
    there = ("peer", "name", "eth0", "netns", path.name)
    run("ip", "link", "add", here, "master", bridge(number), "up", "type", "veth", *there)
    run("ip", "-n", path.name, "address", "add", f"{address(number, ordinal)}/24", "dev", "eth0")
    run("ip", "-n", path.name, "link", "set", "eth0", "up")
    run("ip", "-n", path.name, "link", "set", "lo", "up")


def remove_namespace(number: int, ordinal: int) -> None:
    """Remove a host's link and namespace, if they are there."""
    if _there(_link(number, ordinal)):
        run("ip", "link", "delete", _link(number, ordinal))
    path = namespace(number, ordinal)
    if path.exists():
        run("ip", "netns", "delete", path.name)
    if path.parent.is_dir() and not any(path.parent.iterdir()):
        subprocess.run(["umount", "-q", path.parent], check=False)  # ip mounted it on itself
        path.parent.rmdir()


def set_link(number: int, ordinal: int, *, up: bool) -> None:
    """Plug a host's cable in, or pull it."""
    run("ip", "link", "set", _link(number, ordinal), "up" if up else "down")


def shape_ways(
    number: int, hosts: int, slow: Collection[tuple[int, int]], lossy: Collection[tuple[int, int]]
) -> None:
    """Give the way between each two hosts of a lab 100 Mbit/s, ``slow`` ones a tenth.

    A queue of six packets makes ``lossy`` ones drop some. Hosts are named by their ordinals, the lower first.
    """
    for to in range(1, hosts + 1):
        run("ip", "-n", namespace(number, to).name, "link", "set", "eth0", "gso_max_size", "2000")
        at = ("dev", _link(number, to))
        subprocess.run(["tc", "qdisc", "del", *at, "root"], capture_output=True, check=False)
        run("tc", "qdisc", "add", *at, "root", "handle", "1:", "htb", "default", "99")
        run("tc", "class", "add", *at, "parent", "1:", "classid", "1:99", "htb", "rate", "1gbit")
        for one in set(range(1, hosts + 1)) - {to}:
            pair = (min(one, to), max(one, to))
            rate, packets = "10mbit" if pair in slow else "100mbit", "6" if pair in lossy else "500"
            burst = ("burst", "125k", "cburst", "125k")  # 10 ms: a busy machine's delays are made up for
            run("tc", "class", "add", *at, "parent", "1:", "classid", f"1:{one}", "htb", "rate", rate, *burst)
            run("tc", "qdisc", "add", *at, "parent", f"1:{one}", "pfifo", "limit", packets)
            source = ("match", "ip", "src", f"{address(number, one)}/32", "flowid", f"1:{one}")
            run("tc", "filter", "add", *at, "parent", "1:", "protocol", "ip", "u32", *source)


def _link(number: int, ordinal: int) -> str:
    return f"rekindle{number}.{ordinal}"


def _there(link: str) -> bool:
    return Path("/sys/class/net", link).exists()
