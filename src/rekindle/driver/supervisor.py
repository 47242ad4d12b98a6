# SPDX-License-Identifier: Apache-2.0
"""One run from its start to its end."""

import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple

from rekindle.host import background, folders
from rekindle.host.caches import redirect_caches
from rekindle.records import Ladder, RunEnd, RunSpec, format_time, write_record
from rekindle.records.events import ExceptionEvent, TaskEvent
from rekindle.records.evidence import read_lines

from .autopsy import write_autopsy
from .clock import RunClock
from .command import make_job_command, make_job_environment
from .container import RunContainer
from .growth import Growth
from .ladder import climb_ladder
from .places import Place, PlaceError
from .processes import adopt_orphans, end_descendants, reap_orphans
from .progress import Reporter
from .sampler import Sampler
from .snapshot import Snapshot, list_living
from .watchdog import Watchdog

_PERIOD_S = 1.0
_RESERVE_BYTES = 1 << 20
"""Held while the job runs, so that its end can be written on a disk that the job has filled."""


class _Interrupted(Exception):
    """A signal asked the supervisor to stop."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _Interrupted


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let signals interrupt the block; they are blocked after it, so that records are written.

    A signal that arrives in between interrupts the next such block.
    """
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in numbers:
        signal.signal(number, _interrupt)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


class _End(NamedTuple):
    reason: Literal["finished", "limit", "hung", "interrupted"]
    exit_status: int | None = None
    message: str | None = None


def _make_private(folder: Path) -> None:
    """Make a folder for this user alone, in one that others may write to.

    Raises:
        PlaceError: another user has made it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PlaceError(f"{folder}, for temporary files, is another user's, or others may write to it.")


def supervise_run(place: Place) -> None:
    """Run the job of a place to its end, within its limit; leaves no process behind.

    The controller judges what came of it. For a run that visibly failed the blame ladder is climbed here.
    """
    adopt_orphans()
    run_dir, spec = place.run_dir, place.spec
    reporter = Reporter(run_dir, spec)
    if spec.cache:
        redirect_caches(Path(spec.cache))
    reserve = run_dir / "reserve"
    reserve.write_bytes(bytes(_RESERVE_BYTES))
    started, clock = datetime.now(timezone.utc), time.monotonic()
    waited = place.measure_wait()
    running = RunClock()
    try:
        _make_private(Path(spec.tmpdir))
        place.allocate()
        with _interruptible():
            place.prepare(reporter)
        started, clock = datetime.now(timezone.utc), time.monotonic()
        spec = place.spec
        environ = {**make_job_environment(run_dir, spec), **place.variables()}
        running = place.clock()
        end = _run(place, environ, running, reporter)
        running.read()
    except PlaceError as error:
        end = _End("interrupted", message=str(error))
    except _Interrupted:
        end = _End("interrupted")
    if end == _End("interrupted"):
        end = _End("interrupted", message=place.describe_end())
    reserve.unlink(missing_ok=True)
    duration = time.monotonic() - clock
    ended = RunEnd(
        nonce=spec.nonce or None,
        started=format_time(started),
        duration_s=round(duration, 2),
        reason=end.reason,
        exit_status=end.exit_status,
        message=end.message,
        waited_s=waited,
        suspensions=tuple(running.suspensions),
    )
    write_record(run_dir / folders.ENDED, ended)
    if end.reason != "interrupted" and place.climbs and _failed(run_dir, spec, end):
        reporter.report(duration, "looking for the first step that fails")
        with suppress(_Interrupted), _interruptible():
            write_record(run_dir / folders.LADDER_RECORD, Ladder(rungs=climb_ladder(run_dir, spec, environ)))
        end_descendants()
        place.nodes().end()
    reporter.end(duration, end.message)


def _failed(run_dir: Path, spec: RunSpec, end: _End) -> bool:
    """Whether a run shows here that it failed: by its end, a rank that raised, or a site without a result."""
    if (end.reason, end.exit_status) != ("finished", 0):
        return True
    events = [line.event for line in read_lines(run_dir)] if spec.job.federated else []
    sites = {event.site for event in events if isinstance(event, TaskEvent)}
    raised = any(isinstance(event, ExceptionEvent) for event in events)
    return spec.job.federated and (raised or len(sites) < len(spec.sites))


def _run(place: Place, environ: dict[str, str], clock: RunClock, reporter: Reporter) -> _End:
    """Run job.py and watch it; a run that is ended by us has had its autopsy.

    Raises:
        PlaceError: a part of the place takes no part in the run.
    """
    run_dir, spec = place.run_dir, place.spec
    samples = run_dir / folders.name_samples(next(iter(spec.nodes), None))
    sampler = Sampler(samples, spec.gpus_on(spec.here), spec.nonce or None)
    container = RunContainer(run_dir, spec) if spec.engine else None
    nodes = place.nodes()
    words, find = make_job_command(run_dir, spec), nodes.processes
    if container:
        container.end()  # a killed supervisor may have left it
        (words, environ), find = container.start(words, environ), container.processes
    growth = Growth(run_dir)
    watchdog = Watchdog(spec, Snapshot(clock.read(), list_living(find()), growth.count()))
    with (run_dir / folders.JOB_LOG).open("wb") as log:
        try:
            with _interruptible():
                if why := place.refusal():
                    log.write(f"{why}\n".encode())
                    return _End("finished", 1)
                nodes.start()
                process = background.spawn_command(words, log, cwd=run_dir / folders.JOB, env=environ)
                while (status := process.poll()) is None:
                    reap_orphans(but=[process.pid, *(sampler.pid for sampler in nodes.samplers())])
                    nodes.check()
                    if (run_dir / folders.EVIDENCE / folders.IMPORT_ERROR).exists():
                        return _End("finished", 1)
                    elapsed = clock.read()
                    end = _End("limit") if elapsed > spec.job.limit_s else None
                    now = Snapshot(elapsed, list_living(find()), growth.count())
                    if place.rests():
                        watchdog.rest(now)
                    seen = nodes.join(now, sampler.sample(now))
                    message = watchdog.look(*seen, starting=reporter.is_starting, turning=reporter.turning)
                    message = message or reporter.results.find_overdue(elapsed)
                    if message is not None:
                        end = _End("hung", message=message)
                    reporter.report(elapsed, now=now.processes)
                    if end is not None:
                        write_autopsy(run_dir, spec.tmpdir, find())
                        nodes.autopsy()
                        return end
                    time.sleep(_PERIOD_S)
                return _End("finished", status)
        except _Interrupted:
            return _End("interrupted")
        except OSError as error:
            what = "start the job" if error.filename in {words[0], "srun"} else "write down what it sees"
            return _End("interrupted", message=f"The driver cannot {what}: {error.strerror}.")
        finally:
            if container:
                container.end()
            end_descendants(but=nodes.samplers())
            nodes.end()
            end_descendants()
            for pipe in (run_dir / folders.EVIDENCE).glob("*.pipe"):
                pipe.unlink()
