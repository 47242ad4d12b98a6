"""Acceptance on the controller: figures held against norms, other GPUs, the fleet and their past."""

from .fleet import compared
from .held import held
from .history import since_last
from .verdict import Judgement, failed_gpus, judged, only_slow

__all__ = [
    "Judgement",
    "compared",
    "failed_gpus",
    "held",
    "judged",
    "only_slow",
    "since_last",
]
