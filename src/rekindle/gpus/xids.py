# SPDX-License-Identifier: Apache-2.0
"""The driver's error codes (Xid): lines of the kernel's log, and what the vendor's catalog says."""

import re
from functools import cache
from importlib.resources import files

from rekindle.records import Record, allow_decoding, decode_json
from rekindle.records.action import Action


class _Xid(Record, kw_only=True, frozen=True):
    means: str
    asks: str | None
    """What the vendor asks for, if anything."""
    bucket: str
    """The vendor's word for the immediate action."""


@allow_decoding
class _Xids(Record, kw_only=True, frozen=True):
    source: str
    read: str
    """When it was read there: a date."""
    disagree: str
    """Where other sources differ."""
    ignored: str
    actions: dict[str, Action]
    """The vendor's word for an immediate action → ours."""
    xids: dict[str, _Xid]


_LINE = re.compile(
    r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F]{1,8}(?::[0-9a-fA-F]{1,8}){1,3})[^)]{0,40}\)[^:]{0,40}: (\d{1,9})"
)
"""Such as ``NVRM: Xid (PCI:0000:1b:00): 79, pid=…``."""
_AGED = re.compile(r"\[ {0,9}(\d{1,12}\.\d{1,9})\] ")
_UPTIME = re.compile(r"(\d{1,12}\.\d{1,9}) ")
_RECENT_S = 600.0
"""Ours: how long an Xid counts, as nothing in the log tells that the GPU was reset since."""

Address = tuple[int, ...]
"""Domain, bus and device."""

_UNKNOWN = _Xid(means="not in our list", asks="look it up in the vendor's catalog", bucket="")


def name_xid(code: int) -> str:
    """Return a description, as in ``Xid 79 (GPU has fallen off the bus; restart the host)``."""
    xid = _of(code)
    return f"Xid {code} ({xid.means}; {xid.asks or _xids().ignored})"


def find_xid_action(code: int) -> Action:
    """Return what it asks the host's operator for; an unknown code asks for somebody to look."""
    return _xids().actions.get(_of(code).bucket, "DRAIN")


def parse_address(text: str) -> Address:
    """Return a PCI address of NVML's (``00000000:1B:00.0``) or of the kernel's (``0000:1b:00``)."""
    return tuple(int(word, 16) for word in text.partition(".")[0].split(":"))


def find_xid(line: str) -> tuple[Address, int] | None:
    """Return the GPU and the code in a line of the kernel's log; None if it has none."""
    match = _LINE.search(line)
    return (parse_address(match[1]), int(match[2])) if match else None


def find_recent_xids(log: str) -> dict[Address, list[int]]:
    """Return the codes of the last minutes by GPU, each once; a line without its time is of unknown age.

    ``log`` is what /proc/uptime has, and then lines as dmesg prints them.
    """
    up = _UPTIME.match(log)
    found: dict[Address, list[int]] = {}
    for line in log.splitlines():
        at, xid = _AGED.match(line), find_xid(line)
        if up and at and xid and 0 <= float(up[1]) - float(at[1]) <= _RECENT_S:
            codes = found.setdefault(xid[0], [])
            codes += [xid[1]] if xid[1] not in codes else []
    return found


def _of(code: int) -> _Xid:
    return _xids().xids.get(str(code), _UNKNOWN)


@cache
def _xids() -> _Xids:
    return decode_json(files("rekindle.gpus").joinpath("xids.json").read_bytes(), _Xids)
