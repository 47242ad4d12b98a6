"""What an inventory sets, held against what can work, before anything is asked of a host."""

from .mistake import Mistake, Unknown
from .mistakes import mistakes
from .told import lines, of_host, of_play

__all__ = ["Mistake", "Unknown", "lines", "mistakes", "of_host", "of_play"]
