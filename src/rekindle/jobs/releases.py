"""Which release of NVFlare an example is of."""

from __future__ import annotations

import re

from rekindle.records import Job
from rekindle.solver.catalogue import rules

from .placement import Unplaceable


def minor(version: str) -> str | None:
    """Return ``2.7`` of ``2.7.2-2-g8b25406a6``; None if it is no version."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else None


def hold_to_release(job: Job, nvflare: str | None) -> None:
    """Hold an example to the release that the host gets.

    Args:
        job: others are of every release.
        nvflare: None for the usual one.

    Raises:
        Unplaceable: it is described for others.
    """
    usual = rules().nvflare.version
    if job.example and job.example.folder and minor(nvflare or usual) not in job.example.releases:
        described = " and ".join(job.example.releases)
        at = f"rekindle_nvflare at {usual}" if minor(usual) in job.example.releases else "it out"
        raise Unplaceable(
            f"{job.name} is described for NVFlare {described}, and the host gets {nvflare or usual}.",
            f"Leave {at}, or describe it for that release in flare_jobs/examples/{job.name}.yml.",
        )
