"""The contract over a run's whole story; docs/verdicts.md says what each rule needs and cannot see."""

from . import devices, federation, figures, gpu_errors, logs, samples, server, times, witnesses
from .registry import RULES, Doubt, hold

__all__ = [
    "RULES",
    "Doubt",
    "devices",
    "federation",
    "figures",
    "gpu_errors",
    "hold",
    "logs",
    "samples",
    "server",
    "times",
    "witnesses",
]
