# SPDX-License-Identifier: Apache-2.0
"""What ends the processes that a killed driver leaves on its node of a SLURM allocation.

SLURM ends the steps of a job whose batch script, the driver, was killed; other processes that it started end
only where SLURM uses cgroups. So a guard waits outside the driver's session and tree, and reads a pipe that
only the driver can write to: if it closes without a message, the driver was killed.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rekindle.driver.container import RunContainer
from rekindle.driver.processes import end_until_none, find_started_with
from rekindle.records.layout import spec_in

from .allocation import end_steps
from .steps import name_steps

_RUN, _JOB = "REKINDLE_RUN", "SLURM_JOB_ID"
"""Variables that mark what the driver starts; the next start of the run has another SLURM job."""
_ENDED = b"ended"


@contextmanager
def guard_run(run_dir: Path) -> Iterator[None]:
    """Keep a guard beside this process until this is left without an error."""
    reads, writes = os.pipe()
    with suppress(OSError):  # the run is worth more than its guard
        command = [sys.executable, "-m", "rekindle.slurm.guard", str(run_dir)]
        subprocess.run(command, stdin=reads, start_new_session=True, check=False)
    os.close(reads)
    os.environ[_RUN] = str(run_dir)
    yield
    with suppress(BrokenPipeError):
        os.write(writes, _ENDED)
    os.close(writes)


def main() -> None:
    """Leave the driver's tree, wait for its end, and end what it leaves unless it reported its end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    if sys.stdin.buffer.read() != _ENDED:
        _end(Path(sys.argv[1]))


def _end(run_dir: Path) -> None:
    spec = spec_in(run_dir)
    mark = (str(run_dir), os.environ.get(_JOB))
    print("The driver was killed: its guard ends what it left.", flush=True)
    end_until_none(lambda: find_started_with(lambda own: (own.get(_RUN), own.get(_JOB)) == mark))
    if spec.engine:
        RunContainer(run_dir, spec).end()
    end_steps(name_steps(spec.nonce))


if __name__ == "__main__":
    main()
