"""What the driver's error codes (Xid) mean, by the vendor's catalog."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from rekindle.records import Record, decodable, decode


class _Xid(Record, kw_only=True, frozen=True):
    means: str
    asks: str | None
    """What the vendor asks for; None where that is nothing."""
    fails: bool
    """Whether a GPU that met it is not accepted: it asks for more than the application's start."""


@decodable
class _Xids(Record, kw_only=True, frozen=True):
    source: str
    disagree: str
    """In what other sources differ."""
    ignored: str
    xids: dict[str, _Xid]


_UNKNOWN = _Xid(means="not in our list", asks="look it up in the vendor's catalog", fails=True)


def named(code: int) -> str:
    """Return such as ``Xid 79 (GPU has fallen off the bus; restart the host)``."""
    xid = _of(code)
    return f"Xid {code} ({xid.means}; {xid.asks or _xids().ignored})"


def fails(code: int) -> bool:
    """Whether a GPU that met it is not to be accepted; so it is with one that is not known."""
    return _of(code).fails


def _of(code: int) -> _Xid:
    return _xids().xids.get(str(code), _UNKNOWN)


@cache
def _xids() -> _Xids:
    return decode(files("rekindle.gpus").joinpath("xids.json").read_bytes(), _Xids)
