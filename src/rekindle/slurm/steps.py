# SPDX-License-Identifier: Apache-2.0
"""The steps of an allocation, and its nodes by the variables that all its processes inherit."""

import subprocess
from collections.abc import Mapping

from rekindle.host.queues import QueueError
from rekindle.host.variables import name_machine

_LIMIT_S = 60


def order_nodes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the allocation's nodes: this one, which has global rank 0, then the others in SLURM's order.

    Raises:
        QueueError: scontrol does not answer.
    """
    try:
        done = subprocess.run(
            ["scontrol", "show", "hostnames", environ["SLURM_JOB_NODELIST"]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_LIMIT_S,
        )
    except (OSError, KeyError, subprocess.SubprocessError) as error:
        raise QueueError(f"scontrol does not list the job's nodes: {error}.") from error
    here = name_machine(environ)
    return (here, *(name for name in done.stdout.split() if name != here))


def name_steps(nonce: str) -> str:
    """Return the name of all steps of a run."""
    return f"rekindle-{nonce or 'run'}"


def make_step(name: str, nodes: int, *options: str) -> list[str]:
    """Return the srun that starts a command once on each of so many nodes, beside other steps."""
    return [
        *("srun", "--overlap", "--export=ALL", "--input=none", "--wait=0", "--ntasks-per-node=1"),
        *(f"--nodes={nodes}", f"--ntasks={nodes}", f"--job-name={name}", *options),
    ]
