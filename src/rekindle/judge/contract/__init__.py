"""The contract over a run's whole story; docs/verdicts.md says what each rule needs and cannot see."""

from . import devices, federation, figures, gpu_errors, ledger, logs, samples, server, tasks, times, witnesses  # noqa: F401
from .registry import RULES, Doubt, hold

__all__ = ["RULES", "Doubt", "hold"]
