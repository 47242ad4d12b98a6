# SPDX-License-Identifier: Apache-2.0
"""What the driver's error codes (Xid) mean, by the vendor's catalog."""

from functools import cache
from importlib.resources import files

from rekindle.records import Record, allow_decoding, decode_json
from rekindle.records.acceptance import Action


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


_UNKNOWN = _Xid(means="not in our list", asks="look it up in the vendor's catalog", bucket="")


def name_xid(code: int) -> str:
    """Return a description, as in ``Xid 79 (GPU has fallen off the bus; restart the host)``."""
    xid = _of(code)
    return f"Xid {code} ({xid.means}; {xid.asks or _xids().ignored})"


def find_xid_action(code: int) -> Action:
    """Return what it asks the host's operator for; an unknown code asks for somebody to look."""
    return _xids().actions.get(_of(code).bucket, "DRAIN")


def _of(code: int) -> _Xid:
    return _xids().xids.get(str(code), _UNKNOWN)


@cache
def _xids() -> _Xids:
    return decode_json(files("rekindle.gpus").joinpath("xids.json").read_bytes(), _Xids)
