"""The contract over a run's whole story; docs/verdicts.md says what each rule needs and cannot see."""

from . import (  # noqa: F401 - each registers its rules
    devices,
    exchange,
    federation,
    figures,
    given_gpus,
    gpu_errors,
    ledger,
    logs,
    models,
    nodes,
    processes,
    samples,
    sent,
    server,
    tasks,
    times,
    witnesses,
)
from .registry import RULES, Doubt, hold

__all__ = ["RULES", "Doubt", "hold"]
