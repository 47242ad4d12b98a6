"""The ``rekindle`` command: each verb redoes one stage from its records, on any machine."""

from .main import main

__all__ = ["main"]
