# SPDX-License-Identifier: Apache-2.0
"""SLURM's commands, within a limit of time. Standard library alone."""

import os
import subprocess
from collections.abc import Mapping

_LIMIT_S = 30


def read_output(*command: str, limit_s: float | None = None) -> str | None:
    """Return what one of SLURM's commands prints; None if it fails or takes longer than ``limit_s``."""
    answer = run_command(list(command), os.environ, limit_s)
    return answer.stdout if answer and answer.returncode == 0 else None


def run_command(
    command: list[str], environ: Mapping[str, str], limit_s: float | None = None
) -> subprocess.CompletedProcess[str] | None:
    """Run one of SLURM's commands; None if it is not there, or takes longer than ``limit_s``."""
    try:
        return subprocess.run(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s or _LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
