# SPDX-License-Identifier: Apache-2.0
"""Acceptance on the controller: figures compared with norms, other GPUs, the fleet and their past."""

from .catalogue import read_norms
from .evaluation import evaluate_figures
from .fleet import compare_hosts
from .history import find_changes
from .norms import make_norms
from .verdict import Judgement, find_failed_gpus, is_only_slow, judge_acceptance, judge_host

__all__ = [
    "Judgement",
    "compare_hosts",
    "evaluate_figures",
    "find_changes",
    "find_failed_gpus",
    "is_only_slow",
    "judge_acceptance",
    "judge_host",
    "make_norms",
    "read_norms",
]
