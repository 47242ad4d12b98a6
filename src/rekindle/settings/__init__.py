# SPDX-License-Identifier: Apache-2.0
"""What an inventory sets, checked before anything is asked of a host."""

from .command import format_command
from .play import find_host_mistakes, find_play_mistakes, find_run, refuse_leaving_out
from .room import find_group_mistakes

__all__ = [
    "find_group_mistakes",
    "find_host_mistakes",
    "find_play_mistakes",
    "find_run",
    "format_command",
    "refuse_leaving_out",
]
