"""``retired.json``: what was kept of a host from which Rekindle was removed."""

from __future__ import annotations

from typing import Literal

from .base import Few, Integer, Record, Table, Text, Timestamp


class RetiredRecord(Record, kw_only=True, frozen=True):
    """The last copy of a host; it lies in retired/ beside this record."""

    schema: Literal["rekindle/retired/1"] = "rekindle/retired/1"
    host: Text
    retired: Timestamp | None = None
    """When nothing was left on the host; None while its removal is not complete."""
    environments: Few[Text] = ()
    """Locks of the environments that the capsule rebuilds."""
    runs: Table[Text] = {}
    """What each run was judged to be at home, by its folder; empty where it was not sent from there."""
    files: Integer = 0
    left: Table[Integer] = {}
    """Bytes of each file of a log or run that was not copied, most of them models, and went with the host."""
