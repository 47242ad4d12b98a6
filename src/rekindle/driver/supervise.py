"""One run from its start to its verdict."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Literal

from rekindle.evidence import read_lines
from rekindle.judge import judge
from rekindle.records import Ended, Job, Progress, RunSpec, read, write
from rekindle.records.events import RoundEvent

from .processes import adopt_orphans, end_descendants
from .sampler import Sampler

_PERIOD_S = 1.0


class _Interrupted(Exception):
    """A signal asked the supervisor to stop."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _Interrupted


def supervise(run_dir: Path) -> None:
    """Run the job in ``run_dir`` to its end, within its limit, and judge it; leaves no process behind."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _interrupt)
    adopt_orphans()
    spec = read(run_dir / "spec.json", RunSpec)
    sampler = Sampler(run_dir / "samples.jsonl", {uuid for site in spec.sites for uuid in site.gpus})
    started, clock = datetime.now(timezone.utc), time.monotonic()
    reason: Literal["finished", "limit", "interrupted"] = "finished"
    status: int | None = None
    with (run_dir / "job.log").open("wb") as log:
        process = subprocess.Popen(
            [spec.python, "job.py", *job_arguments(spec)],
            cwd=run_dir / "job",
            env=_environment(run_dir, spec),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            while (status := process.poll()) is None:
                elapsed = time.monotonic() - clock
                if elapsed > spec.job.limit_s:
                    reason = "limit"
                    break
                sampler.sample()
                _tell(run_dir, spec.job, "running", elapsed)
                time.sleep(_PERIOD_S)
        except _Interrupted:
            reason = "interrupted"
        finally:
            end_descendants()
    duration = time.monotonic() - clock
    ended = Ended(
        started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        duration_s=round(duration, 2),
        reason=reason,
        exit_status=status,
    )
    write(run_dir / "ended.json", ended)
    write(run_dir / "verdict.json", judge(run_dir))
    _tell(run_dir, spec.job, "ended", duration)


def job_arguments(spec: RunSpec) -> list[str]:
    """Return the options that job.py is called with."""
    gpu = ",".join(f"[{','.join(site.gpus or ['cpu'] * site.ranks)}]" for site in spec.sites)
    arguments = ["--client_ids", *(site.name for site in spec.sites), "--gpu", gpu]
    arguments += ["--num_rounds", str(spec.job.rounds)]
    for name, value in spec.job.arguments.items():
        if value is False:
            continue
        values = value if isinstance(value, tuple) else () if value is True else (value,)
        arguments += [f"--{name}", *map(str, values)]
    return arguments


def _environment(run_dir: Path, spec: RunSpec) -> dict[str, str]:
    """Server and clients see no GPU; a site's own command gives its trainers theirs.

    Each keeps the bytecode that it compiles, as a run's many processes import the same libraries.
    """
    given = [uuid for site in spec.sites for uuid in site.gpus]
    turns = spec.job.when_short_of_gpus == "turns" and len(set(given)) < len(given)
    return {
        **os.environ,
        **({"REKINDLE_TURN": str(run_dir / "turn.lock")} if turns else {}),
        "CUDA_VISIBLE_DEVICES": "",
        "TMPDIR": spec.tmpdir,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "REKINDLE_EVIDENCE": str(run_dir / "evidence"),
        "REKINDLE_CROSS_DEVICE_OPS": spec.cross_device_ops or "",
    }


def _tell(run_dir: Path, job: Job, state: Literal["running", "ended"], elapsed: float) -> None:
    rounds = [one.event for one in read_lines(run_dir) if isinstance(one.event, RoundEvent)]
    last = max(rounds, key=lambda event: event.time, default=None)
    says = "starting" if state == "running" else "ended"
    if last:
        loss = f", loss {last.losses[-1]:.4f}" if last.losses and last.losses[-1] is not None else ""
        done = f"round {last.round + 1}/{job.rounds}{loss}"
        says = done if state == "running" else f"ended after {done}"
    write(run_dir / "progress.json", Progress(state=state, says=says, elapsed_s=round(elapsed, 1)))
