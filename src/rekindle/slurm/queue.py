# SPDX-License-Identifier: Apache-2.0
"""SLURM's queue: the state of a job in it, and its end. Standard library alone."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from ..host import background, storage
from ..host.folders import SPEC
from ..host.queues import Queue, name_job
from .batch import LOG, submit_script
from .commands import read_output, run_command
from .steps import make_step, order_nodes

_UNFIT = "--format=%N is %T (%E)"
ENDED = "slurm-job.log"
"""SLURM's description of a job that ended before its last record."""
_WAITS = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
_SUSPENDED = {"SUSPENDED", "STOPPED"}
_NEVER = {"PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints"}
"""Reasons for which a job would wait forever, on some clusters."""
_PLACE, _PLACE_S = "slurm-place.txt", 30
"""A job's last place in the queue, and for how long it is reused, as squeue has to list all jobs."""


def ask_state(folder: Path) -> tuple[str, str]:
    """Return whether the job of ``folder`` is ``held``, ``free`` or ``unknown``, and why it waits.

    A job that could never start is cancelled, and then free.
    """
    job = name_job(folder)
    if not job:
        return "free", ""
    answer = _squeue(f"--jobs={job}", "--format=%T|%r|%S|%P")
    if answer is None or (answer.returncode and "Invalid job id" not in answer.stderr):
        return "unknown", ""
    line, *_ = answer.stdout.strip().splitlines() or [""]
    state, *rest = line.split("|")
    if answer.returncode or not state:
        return "free", ""
    if state not in _WAITS or len(rest) < 2:
        return "held", f"job {job} is suspended by SLURM" if state in _SUSPENDED else ""
    reason, start, *partitions = rest
    if reason in _NEVER:
        QUEUE.cancel(folder)
        return "free", f"Job {job} could never start in SLURM's partition: {reason}."
    place = _place(folder, job, ",".join(partitions))
    where = f", {place}," if place else ""
    why = "" if reason == "None" else f" for {reason}"
    expected = "" if start in {"", "N/A"} else f", and is expected to start at {start}"
    return "held", f"job {job} waits in SLURM's queue{where}{why}".rstrip(",") + expected


def _place(folder: Path, job: str, partitions: str) -> str:
    """Return the job's place among those that wait, as in ``2 of 3 in gpu``; nothing if it is not known.

    Of several partitions it is the one with the fewest jobs before ours.
    """
    kept = folder / _PLACE
    with suppress(OSError, ValueError):
        number, _, place = kept.read_text(encoding="utf-8").partition(" ")
        if number == job and 0 <= time.time() - kept.stat().st_mtime < _PLACE_S:
            return place
    waiting, places = _waiting(partitions) if partitions else [], []
    for partition in partitions.split(","):
        jobs = [job for job, where in waiting if partition in where]
        if job in jobs:
            places.append((jobs.index(job) + 1, f"of {len(jobs)} in {partition}"))
    place = " ".join(map(str, min(places, default=())))
    with suppress(OSError):
        storage.write_file(kept, f"{job} {place}".encode())
    return place


def _waiting(partitions: str) -> list[tuple[str, list[str]]]:
    """Return the jobs that wait in the partitions, each with its partitions, in the order of their start.

    It is empty where a user cannot see others' jobs.
    """
    private = re.search(
        r"^PrivateData\s*=\s*(\S+)", read_output("scontrol", "show", "config") or "", re.MULTILINE
    )
    if not private or "jobs" in private[1].split(","):
        return []
    order = ("--states=PENDING", "--array", "--priority", "--sort=-p,i")
    answer = _squeue(*order, f"--partition={partitions}", "--format=%i|%P")
    if answer is None or answer.returncode:
        return []
    lines = (line.strip().partition("|") for line in answer.stdout.splitlines())
    return [(job, where.split(",")) for job, _, where in lines]


def _squeue(*options: str) -> subprocess.CompletedProcess[str] | None:
    """Run squeue without the user's own variables for it."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    return run_command(["squeue", "--noheader", *options], environ)


_progress = partial(background.make_progress, elapsed_s=0, changed=True)


def measure_wait(folder: Path) -> float | None:
    """Return for how long the job of ``folder`` was in the queue; None if it is not known."""
    known = _fields(_shown(name_job(folder)))
    try:
        queued, began = (datetime.fromisoformat(known[name]) for name in ("SubmitTime", "StartTime"))
    except (KeyError, ValueError):
        return None
    return max(0.0, (began - queued).total_seconds())  # local times, which summer's end sets back


def find_resumed(folder: Path) -> str:
    """Return when SLURM last suspended or resumed the job of ``folder``; nothing if it never did."""
    when = _fields(_shown(name_job(folder))).get("SuspendTime", "")
    return "" if when == "None" else when


def record_end(folder: Path) -> str:
    """Keep SLURM's description of a folder's job and its nodes there, and return why it ends, a sentence."""
    job = name_job(folder)
    shown, unfit = _shown(job), ""
    fields = _fields(shown)
    if nodes := _nodes(folder) or fields.get("NodeList"):
        states = "--states=down,drain,fail"
        unfit = read_output("sinfo", "--Node", "--noheader", states, f"--nodes={nodes}", _UNFIT) or ""
    storage.write_file(folder / ENDED, f"{shown}{unfit}".encode())
    state, limit = fields.get("JobState", "it gives no reason"), fields.get("TimeLimit", "its limit")
    if state == "RUNNING":
        return f"Job {job} of SLURM is near the end of its time, {limit}."
    lost = ", ".join(unfit.splitlines())
    return f"SLURM ended job {job}: {state}{f', as {lost}' if lost else ''}."


def _shown(job: str) -> str:
    return read_output("scontrol", "--oneliner", "show", "job", job) or ""


def _fields(line: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def _nodes(folder: Path) -> str:
    """Return the nodes that a run was given; SLURM forgets those that it lost."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return ",".join(json.loads((folder / SPEC).read_bytes())["nodes"])
    return ""


class SlurmQueue(Queue):
    """What detached work needs of SLURM."""

    def submit(
        self, folder: Path, command: list[str], asked: Mapping[str, Any], environ: Mapping[str, str]
    ) -> str:
        """Queue a command by sbatch."""
        return submit_script(folder, command, asked, environ)

    def is_held(self, folder: Path) -> bool:
        """Whether the job waits or works; also if SLURM does not answer."""
        return ask_state(folder)[0] != "free"

    def cancel(self, folder: Path) -> None:
        """Cancel the job by scancel."""
        if job := name_job(folder):
            run_command(["scancel", job], os.environ)

    def list_nodes(self) -> tuple[str, ...]:
        """Ask scontrol."""
        return order_nodes(os.environ)

    def make_launch(self, node: str, command: list[str]) -> list[str]:
        """Have a step of its own on the node, so that it does not wait for the others."""
        return [*make_step("rekindle-node", 1, f"--nodelist={node}", "--cpu-bind=none"), *command]

    def read_state(self, folder: Path, read: Callable[[], str]) -> tuple[str, str]:
        """Return the job's state, and what it waits for or why it ended in place of an older record."""
        state, waits = ask_state(folder)
        record = read()
        if state == "free" and waits:
            return state, _progress("failed", f"{waits} Fix: ask for what it has, in rekindle_slurm.")
        if waits:
            return state, _progress("waiting", waits)
        if state == "free" and not re.search(r'"state": "(?:ended|failed)"', record):
            message = record_end(folder)
            if (folder / SPEC).exists():
                return state, _progress("ended", message)
            return state, _progress(
                "failed", f"{message} Fix: see {folder}/{LOG} on the host, and run again."
            )
        return state, record


QUEUE = SlurmQueue()
