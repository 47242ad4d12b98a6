# SPDX-License-Identifier: Apache-2.0
"""Jobs for SLURM: a short batch script and its options. Standard library alone."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..host import storage
from ..host.queues import NOTICE_S, QueueError
from .commands import run_command

SCRIPT = "batch.sh"
LOG = "slurm.log"
"""What a job prints."""
_SHORT = "-A -D -J -N -o -p -t".split()  # noqa: SIM905 - so they read as sbatch's manual has them
_SPOIL = "-a -e -n -W --array --error --ntasks --requeue --test-only --wait --wrap".split()  # noqa: SIM905
"""Options of sbatch's that would break a script of ours."""


def make_options(asked: Mapping[str, Any]) -> list[str]:
    """Return the options of both sbatch and srun for an Allocation, without its number of nodes."""
    named = {"partition": asked["partition"], "account": asked.get("account"), "time": asked["time"]}
    named["gpus-per-node"] = asked.get("gpus_per_node")
    return [f"--{name}={value}" for name, value in named.items() if value] + list(asked.get("extra", ()))


def is_own_option(option: str) -> bool:
    """Whether our scripts set this option of sbatch's themselves, or would break with it.

    sbatch accepts a prefix of a long option's name, and the value of a short one without a space.
    """
    every = {"partition": "x", "account": "x", "time": "x", "gpus_per_node": 1}
    lines = ("--nodes", *_fixed(Path()), *make_options(every))
    ours = [*_SHORT, *_SPOIL, *(line.partition("=")[0] for line in lines)]
    if option.startswith("--"):
        return any(name.startswith(option.partition("=")[0]) for name in ours)
    return option[:2] in ours


def submit_script(
    folder: Path, command: list[str], asked: Mapping[str, Any], environ: Mapping[str, str]
) -> str:
    """Write the batch script of ``folder`` and queue it; returns the job's number.

    Raises what `Queue.submit` does.
    """
    options = (*_fixed(folder), f"--nodes={asked.get('nodes', 1)}", *make_options(asked))
    lines = [f"#SBATCH {shlex.quote(option)}" for option in options]
    script = ["#!/bin/sh", *lines, f"exec {shlex.join(command)}", ""]
    storage.write_file(folder / SCRIPT, "\n".join(script).encode())
    given = {name: value for name, value in environ.items() if not name.startswith(("SBATCH_", "SLURM_"))}
    answer = run_command(["sbatch", "--parsable", str(folder / SCRIPT)], given)
    if answer is None or answer.returncode:
        reason = " ".join(answer.stderr.split())[-300:] if answer else "sbatch does not answer"
        fix = "correct rekindle_slurm, or see what sinfo lists"
        raise QueueError(f"SLURM does not take {folder / SCRIPT}: {reason}. Fix: {fix}.")
    return answer.stdout.strip().partition(";")[0]


def _fixed(folder: Path) -> tuple[str, ...]:
    return (
        f"--job-name=rekindle-{folder.name}",
        "--ntasks-per-node=1",
        "--no-requeue",
        f"--signal=B:TERM@{NOTICE_S}",
        f"--output={folder}/{LOG}",
        f"--chdir={folder}",
        "--export=ALL",
    )
