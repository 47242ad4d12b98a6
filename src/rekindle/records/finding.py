# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds, and how far down the blame ladder a failure reaches."""

from typing import Literal

from .base import Few, Integer, Record, Seconds, Text

Layer = Literal["host", "driver", "environment", "network", "framework", "NVFlare", "job"]
Confidence = Literal["certain", "likely", "possible"]


class Finding(Record, kw_only=True, frozen=True):
    """What went wrong, where it shows, and what to do about it."""

    name: Text
    """Entry of the doctor's catalogue; ``exception`` if there is none."""
    cause: Text
    layer: Layer | None
    """None: the cause is in doubt."""
    remedy: Text
    confirm: Text | None = None
    """A command for a shell on that host, by which one sees whether it is so."""
    confidence: Confidence
    file: Text | None = None
    """As it was given; a run's file is relative to its folder."""
    line: Integer | None = None
    echo: bool = False
    """Whether it only follows from a finding before it."""


class Rung(Record, kw_only=True, frozen=True):
    """One step of the blame ladder, from the GPU up to the job under NVFlare."""

    name: Text
    holds: bool | None
    """None: it was not tried."""
    message: Text
    seconds: Seconds


class Ladder(Record, kw_only=True, frozen=True):
    """``ladder.json``: the steps below a run that failed."""

    schema: Literal["rekindle/ladder/1"] = "rekindle/ladder/1"
    rungs: Few[Rung]
