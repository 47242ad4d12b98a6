"""What an inventory sets, held against what can work, before anything is asked of a host."""

from .play import of_host, of_play

__all__ = ["of_host", "of_play"]
