"""``python -m rekindle.driver.passed RUN_DIR NONCE``, on the host.

Prints ``passed`` if ``start`` with that nonce would find nothing to do. It is asked of every run that is
kept, so it imports little.
"""

import sys
from contextlib import suppress
from pathlib import Path

from rekindle.host import folders, slurm
from rekindle.host.look import held
from rekindle.records import RecordError
from rekindle.records.folders import ended_in, progress_in, spec_in, verdict_in


def passed(run_dir: Path, nonce: str) -> bool:
    """Whether the run has passed under that nonce, and nothing of it goes on or is to be recorded."""
    try:
        ended = progress_in(run_dir).state == "ended"
    except RecordError:
        return False
    goes_on = held(run_dir / folders.DRIVER_LOCK) or slurm.queued(run_dir)
    return ended and not goes_on and passed_after_s(run_dir, nonce) is not None


def passed_after_s(run_dir: Path, nonce: str) -> float | None:
    """Return the seconds of a run under that nonce that has passed; of a participant's, that ended well."""
    with suppress(RecordError):
        spec = spec_in(run_dir)
        if spec.nonce == nonce and spec.participant:
            ended = ended_in(run_dir)
            return ended.duration_s if (ended.reason, ended.exit_status) == ("finished", 0) else None
        verdict = verdict_in(run_dir)
        return (verdict.duration_s or 0) if verdict.verdict == "PASS" and spec.nonce == nonce else None
    return None


if __name__ == "__main__":
    print("passed" if passed(Path(sys.argv[1]).absolute(), sys.argv[2]) else "")
