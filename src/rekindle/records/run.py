"""``spec.json``, ``progress.json`` and ``ended.json``: one run of one job, for and by the driver."""

from __future__ import annotations

from typing import Literal

from .base import Record, Timestamp
from .job import Job


class Site(Record, kw_only=True, frozen=True):
    """A site, and what its trainers run on."""

    name: str
    ranks: int
    gpus: tuple[str, ...]
    """UUIDs, one a rank and in rank order; empty on CPU."""


class RunSpec(Record, kw_only=True, frozen=True):
    """Everything that the driver needs to start a job."""

    schema: Literal["rekindle/spec/1"] = "rekindle/spec/1"
    host: str
    job: Job
    sites: tuple[Site, ...]
    python: str
    """Interpreter of the environment that the job runs in."""
    lock_sha256: str
    versions: dict[str, str]
    """Of the packages that matter to the result."""
    tmpdir: str


class Progress(Record, kw_only=True, frozen=True):
    """How far a run is; written again every second."""

    schema: Literal["rekindle/progress/1"] = "rekindle/progress/1"
    state: Literal["running", "judging", "ended"]
    round: int | None
    """The last round that a site finished, from 0."""
    rounds: int
    loss: float | None
    elapsed_s: float


class Ended(Record, kw_only=True, frozen=True):
    """How a run ended."""

    schema: Literal["rekindle/ended/1"] = "rekindle/ended/1"
    started: Timestamp
    duration_s: float
    reason: Literal["finished", "limit", "interrupted"]
    exit_status: int | None
    """Of job.py; None if it was killed by the driver."""
