"""The SLURM allocation that a site runs in, by the variables that all its processes inherit."""

from __future__ import annotations

import socket
from collections.abc import Mapping


def nodes_of(environ: Mapping[str, str]) -> int:
    """Return how many nodes the allocation of a process of ``environ`` has; 1 outside of any."""
    return int(environ.get("SLURM_JOB_NUM_NODES", "1"))


def node(environ: Mapping[str, str]) -> str:
    """Return the name that SLURM has for this machine, or else its own."""
    return environ.get("SLURMD_NODENAME") or socket.gethostname()


def step_name(nonce: str) -> str:
    """Return the name of all steps of a run."""
    return f"rekindle-{nonce or 'run'}"
