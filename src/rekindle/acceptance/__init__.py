"""Acceptance on the controller: figures held against norms, other GPUs, the fleet and their past."""

from .flaw import Flaw
from .fleet import Compared, compared
from .held import held
from .history import since_last
from .verdict import Gate, Judgement, failed_gpus, judged, left_out

__all__ = [
    "Compared",
    "Flaw",
    "Gate",
    "Judgement",
    "compared",
    "failed_gpus",
    "held",
    "judged",
    "left_out",
    "since_last",
]
