"""What an inventory sets, checked before anything is asked of a host."""

from .play import of_host, of_play

__all__ = ["of_host", "of_play"]
