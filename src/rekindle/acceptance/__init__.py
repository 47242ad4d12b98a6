"""Acceptance on the controller: figures held against norms, other GPUs, the fleet and their past."""

from .flaw import Flaw
from .fleet import Compared, compared
from .held import held
from .history import since_last
from .verdict import Judgement, failed_gpus, judged

__all__ = [
    "Compared",
    "Flaw",
    "Judgement",
    "compared",
    "failed_gpus",
    "held",
    "judged",
    "since_last",
]
