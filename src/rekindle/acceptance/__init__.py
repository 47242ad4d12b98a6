# SPDX-License-Identifier: Apache-2.0
"""Acceptance on the controller: figures compared with norms, other GPUs, the fleet and their past."""

from .evaluate import evaluated
from .fleet import compared
from .history import since_last
from .verdict import Judgement, failed_gpus, judged, only_slow

__all__ = ["Judgement", "compared", "evaluated", "failed_gpus", "judged", "only_slow", "since_last"]
