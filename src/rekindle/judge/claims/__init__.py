"""The claims that a job.yml can make; docs/verdicts.md says what each needs."""

from . import clock, gpus, messages, models, participation, results, server, tracking, training  # noqa: F401 - each registers its claims
from .registry import NEEDS, VALIDATORS, check

__all__ = ["NEEDS", "VALIDATORS", "check"]
