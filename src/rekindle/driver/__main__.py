# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.driver start|restart|cancel|supervise RUN_DIR``, on the host.

``start`` reads a RunSpec from standard input, makes the run's folder, has its place start a supervisor, and
prints ``started``. Called again for the same run it starts nothing and prints nothing.
``cancel`` gives up a run that waits for other hosts.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from rekindle.host import background, folders, storage
from rekindle.host.leftovers import BESIDE, BUILDER, find_running
from rekindle.host.payload import extract_job
from rekindle.host.variables import select_for_jobs
from rekindle.records import RecordError, RunSpec, decode_json, write_record
from rekindle.records.layout import progress_in, spec_in

from .data import give_data
from .outcome import measure_finished
from .places import PlaceError, find_place
from .processes import end_all, find_members
from .supervisor import supervise_run


def start_run(run_dir: Path, *, again: bool = False) -> bool:
    """Start the run unless it runs, or has ended well under the nonce sent and is not asked for ``again``.

    First removes what an earlier run left, including the processes of runs whose supervisor was killed.

    Returns:
        Whether it was started.

    Raises:
        PlaceError: its place does not take it, or another run goes on under the same root.
    """
    spec = decode_json(sys.stdin.buffer.read(), RunSpec)
    place = find_place(run_dir, spec)
    root = folders.find_root(run_dir)
    run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with background.hold_lock(run_dir / folders.DRIVER_LOCK) as lock:
        if lock is None or place.is_held():
            return False
        if not again and (after_s := measure_finished(run_dir, spec.nonce)) is not None:
            _record_end(run_dir, after_s)
            return False
        if others := [name for name in find_running(root) if name not in {run_dir.name, *BESIDE}]:
            raise PlaceError(
                f"{others[0]} still runs on the host, and one job runs there at a time. Fix: wait for it, "
                "or have site.yml follow it there, with the inputs that it was started with."
            )
        end_all(find_members(run_dir.parent))  # left by killed supervisors
        _remove_all_but(folders.DRIVER_LOCK, run_dir)
        if place.alone and Path(spec.tmpdir) == root / folders.TMP and BUILDER not in find_running(root):
            _remove_all_but("ansible", root / folders.TMP)
        extract_job(spec.job.code or spec.job.name, run_dir / folders.JOB)
        give_data(run_dir, spec.job)
        (run_dir / folders.EVIDENCE).mkdir()
        write_record(run_dir / folders.SPEC, spec)
        command = ["rekindle.driver", "supervise", str(run_dir)]
        environ = select_for_jobs(os.environ)  # a job can read its supervisor's
        place.start(command, lock, environ)
    return True


def _record_end(run_dir: Path, duration_s: float) -> None:
    """Record the end for a supervisor that was killed before its last record."""
    with suppress(RecordError):
        if progress_in(run_dir).state == "ended":
            return
    background.write_progress(run_dir / folders.PROGRESS, "ended", "ended", duration_s)


def _remove_all_but(name: str, folder: Path) -> None:
    for path in list(folder.glob("*")):
        if path.name != name:
            storage.remove_path(path)


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, run_dir = sys.argv[1], Path(sys.argv[2]).absolute()
    if verb in {"start", "restart"}:
        try:
            if start_run(run_dir, again=verb == "restart"):
                print("started")
        except PlaceError as error:
            sys.exit(str(error))
    elif verb == "cancel":
        find_place(run_dir, spec_in(run_dir)).cancel()
    elif verb == "supervise":
        place = find_place(run_dir, spec_in(run_dir))
        with place.guard():
            supervise_run(place)
    else:
        sys.exit(f"{verb!r} is not a verb of the driver. Fix: use start, restart, cancel or supervise.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
