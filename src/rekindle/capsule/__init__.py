# SPDX-License-Identifier: Apache-2.0
"""What rebuilds a host's environments exactly: capsules, locks, wheels."""

from .capsules import applied, lock_text, pins, require_locks, save

__all__ = ["applied", "lock_text", "pins", "require_locks", "save"]
