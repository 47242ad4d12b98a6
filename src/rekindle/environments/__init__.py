# SPDX-License-Identifier: Apache-2.0
"""Builds the locked environments on a host.

It runs on the host, before any environment exists there: the standard library is all it may import.
"""

from typing import TypedDict


class Specification(TypedDict):
    """One environment; sent as JSON, which every host can read."""

    name: str
    """The framework's, or ``driver``."""
    python: str
    lock: str
    lock_text: str
    lock_sha256: str
    system_site: bool
    """Whether packages that the lock leaves out come from the interpreter."""
    gpus: list[str]
    """That it has to see: UUIDs, or indices on any node of a cluster."""
    offline: bool
    """Whether all of its wheels come from cache/wheelhouse/."""
