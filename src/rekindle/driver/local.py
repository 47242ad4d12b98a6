"""The environment of a run on its nodes' own disks, where an inventory has it there (``local_disk``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rekindle.host import folders
from rekindle.host.slurm import node
from rekindle.records import RunSpec
from rekindle.trainer.slurm import step, step_name

from .allocation import AllocationError

_LOG = "environment.log"
_PERIOD_S = 1.0


def have_environment(run_dir: Path, spec: RunSpec, report: Callable[[float, str], None]) -> None:
    """Have the environment on each node of the run, built there unless it is; returns once all have it.

    Args:
        run_dir: the run; what the nodes say goes to a log in it.
        spec: what is to be run, on nodes that are known.
        report: is called meanwhile, with the seconds so far.

    Raises:
        AllocationError: a node cannot have it, or says nothing.
    """
    if spec.slurm is None or spec.slurm.local_disk is None:
        return
    nodes = spec.nodes or (node(os.environ),)
    name = Path(spec.python).parents[1].name
    command = [
        *step(f"{step_name(spec.nonce)}-environment", len(nodes)),
        *(sys.executable, "-m", "rekindle.environments", "have", str(folders.root_of(run_dir)), name),
    ]
    log, began = run_dir / _LOG, time.monotonic()
    try:
        with (
            log.open("wb") as stream,
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream) as process,
        ):
            try:
                while process.poll() is None:
                    report(time.monotonic() - began, f"environment {name} on {', '.join(nodes)}")
                    time.sleep(_PERIOD_S)
            finally:
                process.terminate()
    except OSError as error:
        raise AllocationError(f"srun cannot be started: {error.strerror}.") from error
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    answers = {answer["node"]: answer["says"] for line in lines if (answer := _answer(line))}
    for name in nodes:
        if why := answers.get(name, f"it did not say why: {next(reversed(lines), 'nothing')}"):
            raise AllocationError(f"{name} cannot have its environment: {why.partition(' Fix: ')[0]}")


def local_folder(root: Path, spec: RunSpec) -> Path | None:
    """Return the folder of a root on each node's own disk, if it has any there."""
    disk = spec.slurm.local_disk if spec.slurm else None
    return folders.on_disk(disk, root) if disk else None


def _answer(line: str) -> Any:
    try:
        answer = json.loads(line)
        return answer if isinstance(answer, dict) and {"node", "says"} <= answer.keys() else None
    except ValueError:
        return None
