"""``standing.json``: which of the planned environments a host has already, as ``--check`` saw it."""

from __future__ import annotations

from typing import Literal

from .base import Few, Integer, Record, Text


class StandingRecord(Record, kw_only=True, frozen=True):
    """What of the environments need not be built."""

    schema: Literal["rekindle/standing/1"] = "rekindle/standing/1"
    host: Text
    standing: Few[Text]
    """Names of those that are there: ``driver``, and frameworks."""
    wheels_mb: Integer | None
    """Of the others' wheels, to be brought from a wheelhouse; None if the host fetches them itself."""
    fetch_mb: Integer | None = None
    """Of the others' files, to be fetched from an index; None from a wheelhouse, or if it cannot be told."""
