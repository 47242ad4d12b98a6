"""``plan.json``: which build of each framework goes on a host and why, or which axis refuses."""

from __future__ import annotations

from typing import Literal, get_args

from .base import FileName, Record, Timestamp

Framework = Literal["torch", "lightning", "transformers", "tensorflow"]
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)


class Reason(Record, kw_only=True, frozen=True):
    """What one axis of the decision says."""

    axis: Literal["driver", "gpu", "python", "nvflare", "architecture", "glibc", "pin", "system_site"]
    holds: bool
    says: str
    """One sentence with the figures that decide."""


class Build(Record, kw_only=True, frozen=True):
    """A build of a framework, and the lock that installs it."""

    framework: Framework
    version: str
    variant: str
    """``cpu``, ``cu130`` …"""
    cuda: str | None
    """CUDA runtime that it brings; None for a CPU build."""
    python: str
    """Path of the interpreter on the host."""
    python_version: str
    lock: FileName
    """File name under rekindle/locks/."""
    lock_sha256: str
    system_site: bool = False
    """Whether the framework is the host's own and only the rest is installed."""


class PlannedEnvironment(Record, kw_only=True, frozen=True):
    """The decision for one framework: a build, or a refusal with the ways out."""

    framework: Framework
    build: Build | None
    reasons: tuple[Reason, ...]
    refusal: str | None = None
    """One sentence: the axis that failed and every way out; None where there is a build."""
    warnings: tuple[str, ...] = ()
    first_compile: bool = False
    """Whether the build has only PTX for a GPU, which its first run compiles for minutes."""


class PlanRecord(Record, kw_only=True, frozen=True):
    """What is to be made of one host."""

    schema: Literal["rekindle/plan/1"] = "rekindle/plan/1"
    host: str
    made: Timestamp
    host_sha256: str
    """Digest of the host record that this was decided from."""
    environments: tuple[PlannedEnvironment, ...]
    jobs: tuple[str, ...] = ()
    """Jobs that have to pass on this host."""
