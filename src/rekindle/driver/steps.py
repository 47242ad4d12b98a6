"""The end of a run's steps in its SLURM allocation, by the name that they all begin with."""

from __future__ import annotations

import os
import shutil
import time

from rekindle.host import slurm

_LOOK_S = 0.3
_LIMIT_S = 10.0
"""For SLURM to answer, or to end a step."""


def end_steps(name: str) -> None:
    """End the allocation's steps whose names begin so, politely and then with SIGKILL."""
    for how in (("--signal=TERM",), ()):  # without one it is SIGKILL
        ends, cancelled = time.monotonic() + _LIMIT_S, False
        while time.monotonic() <= ends:
            running = _running(name)
            if running == []:
                return
            if running and not cancelled:
                cancelled = slurm.output("scancel", *how, *running, limit_s=_LIMIT_S) is not None
            time.sleep(_LOOK_S)


def _running(name: str) -> list[str] | None:
    """Return those of our allocation that are named so, such as ``17.2``; None if SLURM does not answer."""
    if not shutil.which("squeue"):
        return []
    job = os.environ.get("SLURM_JOB_ID", "")
    words = ("squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j")
    answer = slurm.output(*words, limit_s=_LIMIT_S)
    lines = [line.strip().partition(" ") for line in (answer or "").splitlines()]
    return None if answer is None else [step for step, _, called in lines if called.startswith(name)]
