"""What rebuilds a host's environments exactly: capsules, locks, wheels."""

from .capsules import hold, lock_text, pins, save, whole

__all__ = ["hold", "lock_text", "pins", "save", "whole"]
