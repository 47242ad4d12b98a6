# SPDX-License-Identifier: Apache-2.0
"""From the files of a run to its verdict: a pure function, never PASS by default or by exit status."""

from . import checks  # noqa: F401 - registers all checks
from .check import CHECKS, is_claim
from .verdict import explain_run, judge_run

__all__ = ["CHECKS", "explain_run", "is_claim", "judge_run"]
