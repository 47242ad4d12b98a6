# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.slurm watch|autopsy RUN_DIR``: the driver starts it on each further node of a run."""

import os
import signal
import sys
import threading
from pathlib import Path

from rekindle.driver.autopsy import autopsy
from rekindle.driver.processes import members
from rekindle.host import slurm
from rekindle.records.folders import spec_in

from .nodes import watch


def main() -> None:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, run_dir = sys.argv[1], Path(sys.argv[2]).absolute()
    if verb == "watch":
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
        watch(run_dir, spec_in(run_dir), stopped)
    else:
        autopsy(run_dir, spec_in(run_dir).tmpdir, lambda: members(run_dir), slurm.node(os.environ))


if __name__ == "__main__":
    main()
