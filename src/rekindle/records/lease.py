"""``lease.json``: until when everything has to be at home."""

from __future__ import annotations

from typing import Literal

from .base import Record, Text, Timestamp


class LeaseRecord(Record, kw_only=True, frozen=True):
    """When a host's lease ends for one playbook."""

    schema: Literal["rekindle/lease/1"] = "rekindle/lease/1"
    host: Text
    started: Timestamp
    """When the playbook did, from which a budget counts."""
    ends: Timestamp | None
    """None if nobody said."""
