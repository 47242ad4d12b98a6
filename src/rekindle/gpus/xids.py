# SPDX-License-Identifier: Apache-2.0
"""What the driver's error codes (Xid) mean, by the vendor's catalog."""

from functools import cache
from importlib.resources import files

from rekindle.records import Record, allow_decoding, decode_json


class _Xid(Record, kw_only=True, frozen=True):
    means: str
    asks: str | None
    """What the vendor asks for, if anything."""
    fails: bool
    """Whether a GPU with it is not accepted: it asks for more than a restart of the application."""


@allow_decoding
class _Xids(Record, kw_only=True, frozen=True):
    source: str
    disagree: str
    """Where other sources differ."""
    ignored: str
    xids: dict[str, _Xid]


_UNKNOWN = _Xid(means="not in our list", asks="look it up in the vendor's catalog", fails=True)


def name_xid(code: int) -> str:
    """Return a description, as in ``Xid 79 (GPU has fallen off the bus; restart the host)``."""
    xid = _of(code)
    return f"Xid {code} ({xid.means}; {xid.asks or _xids().ignored})"


def is_fatal(code: int) -> bool:
    """Whether a GPU with it is not accepted; an unknown code counts too."""
    return _of(code).fails


def _of(code: int) -> _Xid:
    return _xids().xids.get(str(code), _UNKNOWN)


@cache
def _xids() -> _Xids:
    return decode_json(files("rekindle.gpus").joinpath("xids.json").read_bytes(), _Xids)
