"""``payload.json`` and ``<job>.placed.json``: what was brought to a host, and which of it runs where."""

from __future__ import annotations

from typing import Literal

from .base import Record, Text, Timestamp
from .run import RunSpec


class PayloadRecord(Record, kw_only=True, frozen=True):
    """Rekindle's own code and the jobs, as they are on a host."""

    schema: Literal["rekindle/payload/1"] = "rekindle/payload/1"
    host: Text
    path: Text
    """Of the zip file there."""


class PlacedRecord(Record, kw_only=True, frozen=True):
    """A job that runs on a host, or has run there; one that cannot has its verdict instead."""

    schema: Literal["rekindle/placed/1"] = "rekindle/placed/1"
    run: Text
    """Its folder on the host, named by what is run."""
    payload: Text
    """What it is run by, on the host."""
    spec: RunSpec
    """What was sent."""
    at: Timestamp | None = None
    """When, by the controller's clock; None in records of older versions."""
    kept: Timestamp | None = None
    """When the run was judged PASS, if it had passed before and was not run again."""
