"""What an inventory sets, checked before anything is asked of a host."""

from .groups import of_federation
from .play import leaving_out, of_host, of_play, of_run

__all__ = ["leaving_out", "of_federation", "of_host", "of_play", "of_run"]
