# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.slurm watch|autopsy RUN_DIR``: the driver starts it on each further node of a run."""

import os
import signal
import sys
import threading
from pathlib import Path

from rekindle.driver.autopsy import write_autopsy
from rekindle.driver.processes import find_members
from rekindle.host.variables import name_machine
from rekindle.records.layout import spec_in

from .nodes import watch_node


def main() -> None:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, run_dir = sys.argv[1], Path(sys.argv[2]).absolute()
    if verb == "watch":
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
        watch_node(run_dir, spec_in(run_dir), stopped)
    else:
        write_autopsy(run_dir, spec_in(run_dir).tmpdir, find_members(run_dir), name_machine(os.environ))


if __name__ == "__main__":
    main()
