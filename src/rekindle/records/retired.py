"""``retired.json``: what was kept of a host from which Rekindle was removed."""

from __future__ import annotations

from typing import Literal

from .base import Record, Timestamp


class RetiredRecord(Record, kw_only=True, frozen=True):
    """The last copy of a host; it lies in retired/ beside this record."""

    schema: Literal["rekindle/retired/1"] = "rekindle/retired/1"
    host: str
    retired: Timestamp | None = None
    """When nothing was left on the host; None while its removal is not complete."""
    environments: tuple[str, ...] = ()
    """Locks of the environments that the capsule rebuilds."""
    runs: dict[str, str] = {}
    """What each run was judged to be at home, by its folder; empty where it was not sent from there."""
    files: int = 0
    left: dict[str, int] = {}
    """Bytes of each file of a log or run that was not copied, most of them models, and went with the host."""
