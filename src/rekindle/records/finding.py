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


class Moment(Record, kw_only=True, frozen=True):
    """An error or an exception that a process reported, as the timeline has it."""

    time: Text
    """As its log has it; empty where that has none."""
    process: Text
    """Who reported it: ``server``, ``site-1``, ``site-1's trainer``, a rank, or a file."""
    message: Text
    after: Text
    """What that process logged after it."""
    file: Text
    line: Integer


class Diagnosis(Record, kw_only=True, frozen=True):
    """Why something failed, as its files show it."""

    cause: Finding | None
    """None: no cause is known; then the timeline has what may be it."""
    others: Few[Finding] = ()
    """What else was found; the echoes last."""
    timeline: Few[Moment] = ()
    """The first errors of each process, oldest first."""
    went_on: bool = False
    """Whether the files end well in spite of these errors."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The cause, then all else that was found."""
        return (*filter(None, [self.cause]), *self.others)


RungState = Literal["holds", "fails", "not tried"]


class Rung(Record, kw_only=True, frozen=True):
    """One step of the blame ladder, from the GPU up to the job under NVFlare."""

    name: Text
    state: RungState
    message: Text
    seconds: Seconds


class Ladder(Record, kw_only=True, frozen=True):
    """``ladder.json``: the steps below a run that failed."""

    schema: Literal["rekindle/ladder/2"] = "rekindle/ladder/2"
    rungs: Few[Rung]
