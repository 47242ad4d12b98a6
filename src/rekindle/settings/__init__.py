"""What an inventory sets, checked before anything is asked of a host."""

from .groups import of_federation
from .play import of_host, of_play, of_run

__all__ = ["of_federation", "of_host", "of_play", "of_run"]
