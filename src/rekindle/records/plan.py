# SPDX-License-Identifier: Apache-2.0
"""``plan.json``: which build of each framework goes on a host and why, or which axis refuses."""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from .base import Few, FileName, Record, Table, Text, Timestamp

_WITH_TORCH = ("torch", "lightning", "transformers")
FRAMEWORKS = (*_WITH_TORCH, "tensorflow")
Framework = Annotated[str, Meta(pattern=r"^[a-z]+(?:\+[a-z]+)?(?:\+[0-9]{8})?\Z", max_length=40)]
"""Name of an environment: a framework, also with an extension of its lock (``torch+vision``), and with
the number of what jobs require beside it (`name_packaged`)."""


def name_packaged(environment: Framework, requirements: Sequence[str]) -> Framework:
    """Return the name of an environment with the packages that ``requirements`` list, in their order."""
    digest = int(hashlib.sha256("\n".join(requirements).encode()).hexdigest(), 16)
    return f"{environment}+{digest % 10**8:08d}" if requirements else environment


def name_plain(name: str) -> str:
    """Return the name of an environment or of its lock without what `name_packaged` added to it."""
    return re.sub(r"\+[0-9]{8}(?=-|\Z)", "", name)


def has_torch(name: Framework) -> bool:
    """Whether an environment of that name has torch."""
    return name.partition("+")[0] in _WITH_TORCH


def name_runtime(cuda: str | None) -> str:
    """Return what a build runs on: ``CUDA 12.8``, or ``CPU``."""
    return f"CUDA {cuda}" if cuda else "CPU"


class Reason(Record, kw_only=True, frozen=True):
    """The result of one axis of the decision."""

    axis: Literal["driver", "gpu", "python", "nvflare", "architecture", "glibc", "pin", "system_site"]
    holds: bool
    message: Text


class Build(Record, kw_only=True, frozen=True):
    """A build of a framework, and the lock that installs it."""

    framework: Framework
    version: Text
    variant: Text
    cuda: Text | None
    """CUDA runtime that it brings; None for a CPU build."""
    python: Text
    python_version: Text
    lock: FileName
    lock_sha256: Text
    system_site: bool = False
    """Whether the framework is the host's own and only the rest is installed."""


class PlannedEnvironment(Record, kw_only=True, frozen=True):
    """The decision for one framework: a build, or a refusal with the ways out."""

    framework: Framework
    build: Build | None
    reasons: Few[Reason]
    refusal: Text | None = None
    """One sentence: the axis that failed and every way out; None where there is a build."""
    warnings: Few[Text] = ()
    first_compile: bool = False
    """Whether the build has only PTX for a GPU, which its first run compiles for minutes."""


class PlanRecord(Record, kw_only=True, frozen=True):
    """What is to be made of one host."""

    schema: Literal["rekindle/plan/2"] = "rekindle/plan/2"
    host: Text
    made: Timestamp
    nvflare: Text
    """Release that every environment gets."""
    environments: Few[PlannedEnvironment]
    jobs: Few[Text] = ()
    federated: Few[Text] = ()
    """Jobs that run over all hosts of a federation; the host has their environments."""
    images: Few[Text] = ()
    """Container images of the jobs that can run on this host."""
    own: Table[Text] = {}
    """Path on the controller of the job.yml of each job that is not Rekindle's, by name."""
    lacking: Table[Text] = {}
    """Why a job runs nowhere, by job: NVFlare's checkout or the host lacks it, or its script is no Python."""
