# SPDX-License-Identifier: Apache-2.0
"""Waiting for what another process does."""

import time


def until(holds, within_s=120.0, what="It never came about."):
    """Return what ``holds`` returns once it is true; fail with ``what`` if that takes longer."""
    ends = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < ends, what
        time.sleep(0.05)
    return found
