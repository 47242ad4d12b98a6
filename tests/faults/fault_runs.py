# SPDX-License-Identifier: Apache-2.0
"""One fault: injected into a run of its own through the driver, and what came of it."""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from msgspec.structs import replace
from run_here import start_here
from runners.own_jobs import GONE, PORT_TAKEN, Edit, end_driver, supervisor, wait_for_end
from runners.waits import until

from rekindle.driver.processes import read_status
from rekindle.jobs import load_job
from rekindle.judge import judge_run

JOBS = Path(__file__).parent / "jobs"
REPOSITORY = Path(__file__).parents[2]
LIMIT_S = 420
"""For one fault from its start to its verdict; longer than NVFlare's own 300 s of silence."""
_HERE = "__import__('os').environ['REKINDLE_EVIDENCE'] + '/../../"
MARK = f"open({_HERE}injected', 'a').write(f'{{__import__(\"time\").time()}}\\n')"
"""Python by which injected code says that it is now about to do harm; outside the run's folder."""
TRAINING = f"open({_HERE}training', 'a').close()"
"""Python by which a trainer says that it is in the middle of a round."""


class Live:
    """A run that is under way, seen from outside."""

    def __init__(self, work):
        self.work, self.run = work, work / "run"
        self.afterwards = ExitStack()
        """What is to be done when the run has ended."""
        self.supervisor = supervisor(self.run)

    def mark(self):
        """Say that the fault takes place now."""
        with (self.work / "injected").open("a") as stream:
            stream.write(f"{time.time()}\n")

    def training(self):
        """Wait until a trainer says that it is in the middle of a round, or the run has ended."""
        moments = (self.work / "training", self.run / "ended.json")
        self.wait_for(lambda: any(path.exists() for path in moments))

    def wait_for(self, holds, limit_s=120.0):
        until(holds, limit_s, f"{self.work.name}: the moment for the fault did not come")

    def process(self, *words, **environ):
        """Return the first process of the run with these words in its command line."""
        for process in self.supervisor.children(recursive=True):
            with suppress(psutil.Error):
                command, env = process.cmdline(), process.environ()
                if (
                    set(words) <= set(command)
                    and environ.items() <= env.items()
                    and Path(command[0]).name != "env"
                ):
                    return process
        raise LookupError(f"{self.work.name}: no process runs {words} {environ}")

    def kill(self, victim, number=signal.SIGKILL):
        """Send a signal, and see that it was taken."""
        self.mark()
        victim.send_signal(number)
        taken = {psutil.STATUS_STOPPED} if number == signal.SIGSTOP else GONE
        self.wait_for(lambda: read_status(victim) in taken, 30)


@dataclass(frozen=True)
class Fault:
    """What is done to a run, and what has to come of it."""

    name: str
    cause: str
    """Regular expression that finds the cause."""
    edits: tuple[Edit, ...] = ()
    act: Callable[[Live], None] | None = None
    """What is done from outside while it runs."""
    before: Callable[[Path], None] | None = None
    """What is done to its folder before it starts."""
    verdict: str = "FAIL"
    """Or several, with | between them."""
    job: str = "fault_job"
    changes: dict[str, object] = field(default_factory=dict)
    """Fields of job.yml."""
    leaves: bool = False
    """Whether processes are left: a driver that was killed has its run cleared away at the next start."""


@dataclass(frozen=True)
class Outcome:
    """What came of a fault."""

    injected: bool
    verdict: str
    cause: str
    seconds: float | None
    """From the fault to the end of the run; None if the driver did not live to record one."""
    left: tuple[str, ...]
    """Processes of the run that are there when its driver has gone."""
    run: Path
    """The run's folder: the second one's, where the first lost a port."""


def inject(fault, host_folder, work):
    """Run the fault's job with the fault in it; once more if it lost a port that the fault does not take.

    NVFlare's simulator looks for free ports and listens seconds later: another of a dozen runs may take one.
    """
    outcome = _injected(fault, host_folder, work)
    if PORT_TAKEN in outcome.cause and not re.search(fault.cause or r"(?!)", outcome.cause):
        again = work / "again"
        again.mkdir()
        return _injected(fault, host_folder, again)
    return outcome


def _injected(fault, host_folder, work):
    jobs = JOBS if fault.job == "fault_job" else REPOSITORY / "flare_jobs"
    copy = shutil.copytree(jobs, work / "jobs", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in fault.edits:
        edit.apply(copy / fault.job)
    job = replace(load_job(copy, fault.job), **fault.changes)
    if fault.before:
        fault.before(work)
    try:
        assert start_here(job, copy, host_folder, work) is None
        live = Live(work)
        try:
            if fault.act:
                fault.act(live)
            wait_for_end(live.run, live.supervisor, LIMIT_S)
            seen = time.time()
        finally:
            end_driver(live.supervisor)
            left = _end_what_is_left(live)
            live.afterwards.close()
        known = (live.run / "ended.json").exists()
        verdict = judge_run(live.run)
    finally:
        for mount in (work / "full", work / "run"):
            _unmount(mount)
    return _outcome(work, verdict, seen if known else None, left)


def _outcome(work, verdict, seen, left):
    mark = work / "injected"
    at = float(mark.read_text().split()[0]) if mark.exists() else None
    return Outcome(
        injected=at is not None,
        verdict=verdict.verdict,
        cause=verdict.cause or "",
        seconds=None if at is None or seen is None else round(seen - at, 1),
        left=left,
        run=work / "run",
    )


def _end_what_is_left(live):
    """Kill processes that still belong to the run, and return their command lines."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            mine = process.environ().get("REKINDLE_EVIDENCE") == str(live.run / "evidence")
            if (mine or process == live.supervisor) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline())[:120])
                process.kill()
    return tuple(found)


def _unmount(folder):
    if folder.is_mount():
        subprocess.run(["umount", "-l", str(folder)], check=True)
