"""The claims that a job.yml can make; docs/verdicts.md says what each needs."""

from . import (  # noqa: F401 - each registers its claims
    acceptance,
    clock,
    gpus,
    messages,
    models,
    outside,
    participation,
    results,
    server,
    trackers,
    tracking,
    training,
)
from .registry import NEEDS, VALIDATORS, check, known

__all__ = ["NEEDS", "VALIDATORS", "check", "known"]
