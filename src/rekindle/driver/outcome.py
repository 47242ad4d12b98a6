# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.driver.outcome RUN_DIR NONCE``, on the host.

Prints ``finished`` if ``start`` with that nonce would find nothing to do. It is asked of every run that is
kept, so it imports little.
"""

import sys
from contextlib import suppress
from pathlib import Path

from rekindle.host import folders, queues
from rekindle.host.look import is_held
from rekindle.records import RecordError
from rekindle.records.layout import ended_in, progress_in, spec_in


def is_finished(run_dir: Path, nonce: str) -> bool:
    """Whether the run has ended well under that nonce, and nothing of it goes on or is to be recorded."""
    try:
        ended = progress_in(run_dir).state == "ended"
    except RecordError:
        return False
    goes_on = is_held(run_dir / folders.DRIVER_LOCK) or queues.is_queued(run_dir)
    return ended and not goes_on and measure_finished(run_dir, nonce) is not None


def measure_finished(run_dir: Path, nonce: str) -> float | None:
    """Return the seconds that a run took under that nonce, if its job.py ended well; None otherwise."""
    with suppress(RecordError):
        ended = ended_in(run_dir)
        if spec_in(run_dir).nonce == nonce and (ended.reason, ended.exit_status) == ("finished", 0):
            return ended.duration_s
    return None


if __name__ == "__main__":
    print("finished" if is_finished(Path(sys.argv[1]).absolute(), sys.argv[2]) else "")
