"""From the files of a run to its verdict: a pure function, never PASS by default or by exit status."""

from .claims import VALIDATORS, known
from .verdict import judge

__all__ = ["VALIDATORS", "judge", "known"]
