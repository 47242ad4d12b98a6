# SPDX-License-Identifier: Apache-2.0
"""What an inventory sets, checked before anything is asked of a host."""

from .command import command_of
from .groups import of_federation
from .play import leaving_out, of_host, of_play, of_run

__all__ = ["command_of", "leaving_out", "of_federation", "of_host", "of_play", "of_run"]
