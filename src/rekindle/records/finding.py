"""What the doctor finds, and how far down the blame ladder a failure reaches."""

from __future__ import annotations

from typing import Literal

from .base import Few, Integer, Number, Record, Text

Layer = Literal["host", "driver", "environment", "framework", "NVFlare", "job"]
Confidence = Literal["certain", "likely", "possible"]


class Finding(Record, kw_only=True, frozen=True):
    """What went wrong, where it shows, and what to do about it."""

    name: Text
    """Entry of the doctor's catalogue; ``exception`` for one that no entry knows."""
    cause: Text
    """One sentence."""
    layer: Layer
    remedy: Text
    """One sentence."""
    confidence: Confidence
    file: Text | None = None
    """As it was given; relative to the run's folder for one of a run."""
    line: Integer | None = None
    echo: bool = False
    """Whether it only follows from a finding before it."""


class Rung(Record, kw_only=True, frozen=True):
    """One step of the blame ladder, from the GPU up to the job under NVFlare."""

    name: Text
    holds: bool | None
    """None: there was no need or no way to try it."""
    says: Text
    """One sentence."""
    seconds: Number


class Ladder(Record, kw_only=True, frozen=True):
    """``ladder.json``: the steps below a run that failed."""

    schema: Literal["rekindle/ladder/1"] = "rekindle/ladder/1"
    rungs: Few[Rung]
