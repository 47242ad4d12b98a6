# SPDX-License-Identifier: Apache-2.0
"""From the files of a run to its verdict: a pure function, never PASS by default or by exit status."""

from . import checks  # noqa: F401 - registers all checks
from .check import CHECKS, known
from .verdict import explain, judge

__all__ = ["CHECKS", "explain", "judge", "known"]
