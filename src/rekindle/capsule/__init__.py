# SPDX-License-Identifier: Apache-2.0
"""What rebuilds a host's environments exactly: capsules, locks, wheels."""

from .capsules import apply_capsule, find_lock, list_frameworks, require_locks, save_environments

__all__ = ["apply_capsule", "find_lock", "list_frameworks", "require_locks", "save_environments"]
