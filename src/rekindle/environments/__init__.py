"""Builds the locked environments on a host.

It runs on the host, before any environment exists there: the standard library is all it may import.
"""

from __future__ import annotations

from typing import TypedDict


class Specification(TypedDict):
    """One environment: JSON on its way, so that a host needs nothing to read it."""

    name: str
    """The framework's, or ``driver``."""
    python: str
    """Interpreter on the host."""
    lock: str
    """Name of the lock."""
    lock_text: str
    lock_sha256: str
    system_site: bool
    """Whether the interpreter lends the packages that the lock leaves out."""
    gpus: list[str]
    """That it has to see: UUIDs, or indices on whichever node of a cluster."""
    local: str
    """Folder on each node's own disk that it lies below; empty: in the root."""
    offline: bool
    """Whether its wheels are in cache/wheelhouse/ and come from nowhere else."""
