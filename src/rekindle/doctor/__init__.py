"""From the texts of a run to the cause of its failure: a pure function of files."""

from . import texts
from .diagnosis import diagnose_paths, diagnose_run, diagnose_texts

__all__ = ["diagnose_paths", "diagnose_run", "diagnose_texts", "texts"]
