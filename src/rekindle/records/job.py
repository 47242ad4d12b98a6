"""``job.yml``: what a job needs, and what proves that it ran."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from .base import Few, Integer, Number, Record, Table, Text
from .plan import Framework

GpuShortage = Literal["share", "turns", "fewer", "unsupported"]
"""With fewer GPUs than the sites ask for together: sites share them at one time, or take turns on them round
by round, or each gets fewer of its own, or the job is UNSUPPORTED."""

Positive = Annotated[int, Meta(ge=1, le=100_000_000)]
Rounds = Annotated[int, Meta(ge=1, le=10_000)]
Ranks = Annotated[int, Meta(ge=1, le=1_000)]


class Claim(Record, kw_only=True, frozen=True):
    """One thing that has to be shown, and the figures that it is held against."""

    claim: Text
    """Name of a validator in rekindle.judge."""
    options: Table[Any] = {}


class Job(Record, kw_only=True, frozen=True):
    """A federated job."""

    schema: Literal["rekindle/job/1"]
    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$", max_length=200)]
    summary: Text
    code: Text | None = None
    """Job whose job.py, client.py and model.py this one runs, with its own arguments and proof."""
    environment: Framework
    sites: Ranks
    ranks_per_site: Ranks
    """Trainer processes a site, one GPU each; on a host without GPUs, processes on CPU."""
    rounds: Rounds
    when_short_of_gpus: GpuShortage
    limit_s: Positive
    """Hard limit on the whole run, seconds."""
    expected_s: Positive = 60
    """Seconds that it takes on what it is meant for; a job for which a lease has less left is SKIPPED."""
    priority: Integer = 0
    """Jobs of a higher one go first; of the same, in the order of rekindle_jobs."""
    silence_s: Positive = 60
    """Seconds without any progress (log, evidence, activity) after which the run is ended as HUNG."""
    required: bool = True
    arguments: Table[Text | Integer | Number | bool | Few[Text]] = {}
    """Options that job.py is called with: ``local_epoch: 2`` becomes ``--local_epoch 2``; true is a flag."""
    proof: Annotated[tuple[Claim, ...], Meta(min_length=1, max_length=1_000)]
