# SPDX-License-Identifier: Apache-2.0
"""From the texts of a run to the cause of its failure: a pure function of files."""

from . import texts
from .diagnosis import diagnose_run, diagnose_texts, read_logs

__all__ = ["diagnose_run", "diagnose_texts", "read_logs", "texts"]
