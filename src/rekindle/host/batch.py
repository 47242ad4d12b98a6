# SPDX-License-Identifier: Apache-2.0
"""Jobs for SLURM: a short batch script and its options."""

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import slurm, storage

SCRIPT = "batch.sh"
NOTICE_S = 120
"""SLURM asks a job to end so long before its time is over, or up to a minute earlier."""
_SHORT = "-A -D -J -N -o -p -t".split()  # noqa: SIM905 - so they read as sbatch's manual has them
_SPOIL = "-a -e -n -W --array --error --ntasks --requeue --test-only --wait --wrap".split()  # noqa: SIM905
"""Options of sbatch's that would break a script of ours."""


class SlurmError(RuntimeError):
    """SLURM does not take a job; the text is one sentence with the fix."""


def make_options(asked: Mapping[str, Any]) -> list[str]:
    """Return the options of both sbatch and srun for a Slurm record, without its number of nodes."""
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


def submit_job(folder: Path, command: list[str], asked: Iterable[str], environ: Mapping[str, str]) -> None:
    """Queue a command as the job of ``folder``.

    Args:
        folder: for the batch script and what it prints, on a disk that all nodes share.
        command: what the script becomes on the first node.
        asked: sbatch's options.
        environ: what the job has as its variables.

    Raises:
        SlurmError: it is refused.
        OSError: the script cannot be written.
    """
    lines = [f"#SBATCH {shlex.quote(option)}" for option in (*_fixed(folder), *asked)]
    script = ["#!/bin/sh", *lines, f"exec {shlex.join(command)}", ""]
    storage.write_file(folder / SCRIPT, "\n".join(script).encode())
    given = {name: value for name, value in environ.items() if not name.startswith(("SBATCH_", "SLURM_"))}
    answer = slurm.run_command(["sbatch", "--parsable", str(folder / SCRIPT)], given)
    if answer is None or answer.returncode:
        reason = " ".join(answer.stderr.split())[-300:] if answer else "sbatch does not answer"
        fix = "correct rekindle_slurm, or see what sinfo lists"
        raise SlurmError(f"SLURM does not take {folder / SCRIPT}: {reason}. Fix: {fix}.")
    storage.write_file(
        folder / slurm.JOB, json.dumps({"job": answer.stdout.strip().partition(";")[0]}).encode()
    )


def _fixed(folder: Path) -> tuple[str, ...]:
    return (
        f"--job-name=rekindle-{folder.name}",
        "--ntasks-per-node=1",
        "--no-requeue",
        f"--signal=B:TERM@{NOTICE_S}",
        f"--output={folder}/{slurm.LOG}",
        f"--chdir={folder}",
        "--export=ALL",
    )
