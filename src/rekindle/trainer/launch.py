# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.trainer.launch --site=0 --ranks=4 SCRIPT OPTION…``: starts a site's ranks by torchrun.

All are started here; where a run has several machines, its place names another launcher in `LAUNCHER`. The
process itself becomes torchrun, so that signals reach it. With ``--replicas`` ranks are replicas of
TensorFlow's, all in one process.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from .sites import SITE
from .variables import MEMBER, WORKSPACE

PROCESS = (sys.executable, "-u")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")


def main() -> NoReturn:
    """Become what starts the site's ranks."""
    given = make_options_parser().parse_args()
    if given.here and MEMBER in os.environ:
        own = str(Path(os.environ[WORKSPACE]).parent)
        given.command = [word.replace(given.here, own) for word in given.command]
    here = ("--standalone", "--local-addr=localhost", "--nnodes=1")  # as the host's own name may not resolve
    ranks = (*TORCHRUN, *here, f"--nproc-per-node={given.ranks}")
    exec_command([*(PROCESS if given.replicas else ranks), *given.command], {**os.environ})


def make_options_parser() -> argparse.ArgumentParser:
    """Return a parser of the options that each launcher has."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", type=int, required=True, help="number of the site in its job")
    parser.add_argument("--ranks", type=int, required=True, help="of the site, on all of its machines")
    parser.add_argument("--replicas", action="store_true", help="one process has all ranks of a machine")
    parser.add_argument("--here", help="folder of job.py at the server, which the command has paths in")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def exec_command(command: list[str], environ: Mapping[str, str]) -> NoReturn:
    """Become a command that starts ranks, which keep a record for an autopsy.

    Raises:
        SystemExit: it cannot be started.
    """
    try:
        os.execvpe(command[0], command, {**environ, **_flight_record(environ)})
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}. Fix: have it on PATH of the job.")


def _flight_record(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which NCCL's ranks keep a record for an autopsy."""
    record = f"{environ.get('REKINDLE_EVIDENCE', '.')}/{SITE}.nccl-rank-"
    return {
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": record,
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": record,
        "TORCH_FR_BUFFER_SIZE": "2000",
    }


if __name__ == "__main__":
    main()
