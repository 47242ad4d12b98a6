# SPDX-License-Identifier: Apache-2.0
"""The ``rekindle`` command: each verb redoes one stage from its records, on any machine."""

from .main import main

__all__ = ["main"]
