# SPDX-License-Identifier: Apache-2.0
"""What a finding asks the host's operator for."""

from collections.abc import Iterable
from typing import Literal, get_args

Action = Literal["NONE", "RETEST", "RESET_GPU", "REBOOT", "UPDATE_DRIVER", "DRAIN", "REPLACE"]
"""From the mildest. NONE: the host's hardware and driver are left as they are."""


_ORDER: tuple[Action, ...] = get_args(Action)


def rank_action(action: Action | None) -> int:
    """Return its place from the mildest on; that of NONE for None."""
    return _ORDER.index(action or "NONE")


def pick_severest(actions: Iterable[Action]) -> Action:
    """Return the most severe of the actions; NONE without any."""
    return max(actions, key=rank_action, default="NONE")
