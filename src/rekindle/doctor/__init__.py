# SPDX-License-Identifier: Apache-2.0
"""From the texts of a run to the cause of its failure: a pure function of files."""

from . import texts
from .diagnosis import diagnose_paths, diagnose_run, diagnose_texts
from .typed import reported

__all__ = ["diagnose_paths", "diagnose_run", "diagnose_texts", "reported", "texts"]
