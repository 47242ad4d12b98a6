# SPDX-License-Identifier: Apache-2.0
"""Results of many hosts by six jobs, made of recorded runs, with failures of each kind.

PYTHONPATH=src:tests:tests/unit python -m many_hosts FOLDER HOSTS
"""

import shutil
import sys
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from rekindle.judge import judge_run
from rekindle.records import Complaint, Outcome, write_record
from samples.edits import added, replaced
from samples.excerpts import EXCERPTS
from samples.fleets import accepted
from samples.folders import HOST, PLAN, RECORDINGS, fill

RUNS = [
    RECORDINGS / "runs" / name
    for name in (
        *("pt_ddp-h100-x2", "lightning_ddp-h100-x2", "tf_mirrored-cpu-2"),
        *("llm_sft-cpu-2", "llm_peft-cpu-2", "tensor_stream-cpu-2"),
    )
]
_LOG = {name: added("job.log", of.excerpt) for name, of in EXCERPTS.items()}
_FAILED = replaced("ended.json", '"exit_status": 0', '"exit_status": 1')
BROKEN = (
    (0, [_LOG["nccl_timeout"], replaced("ended.json", '"reason": "finished"', '"reason": "hung"')]),
    (1, [_LOG["driver_too_old"], _FAILED]),
    (0, [replaced("evidence/job.jsonl", '"accuracy": 0.96', '"accuracy": 0.46')]),
    (2, [_LOG["shared_memory_full"], _FAILED]),
)
"""Two hosts of 40 each have this one of the `RUNS`, altered so."""
BAD = 13
"""Hosts of 40 that are not proven."""
_GONE = "Failed to connect to the host via ssh: ssh: connect to host {}.example port 22: No route to host"
_FULL = "{} has 3 GB free, and 25 are needed. Fix: free 22 GB, or name another rekindle_root."


def many_hosts(folder: Path, count: int) -> Path:
    """Fill a results folder with ``count`` hosts.

    Of 40, two have each of the `BROKEN` runs, two were full, two lost, and of one no verdict came.
    """
    random = Random(count)
    names = tuple(f"gpu-{number:03}" for number in range(1, count + 1))
    fill(folder, *names)
    good = _judge_good_runs()
    plan = replace(PLAN, jobs=tuple(verdict.job for verdict in good))
    with TemporaryDirectory() as altered:
        broken = [_alter(RUNS[job], edits, Path(altered, str(n))) for n, (job, edits) in enumerate(BROKEN)]
        judged = [judge_run(run) for run in broken]
        for place, name in enumerate(names):
            home, fate = folder / name, place * 7 % 40
            write_record(home / "host.json", replace(HOST, host=name))
            write_record(home / "acceptance.json", accepted(name))
            if fate in (8, 9):
                _leave(home, "preflight", "failed", _FULL)
                continue
            write_record(home / "plan.json", replace(plan, host=name))
            if fate in (10, 11):
                _leave(home, "validate", "unreachable", _GONE)
            for verdict in good[: {10: 3, 11: 3, 12: 0}.get(fate, 6)]:
                took = (verdict.duration_s or 0) * random.uniform(0.95, 1.2)
                write_record(
                    home / verdict.job / "verdict.json", replace(verdict, host=name, duration_s=took)
                )
            if fate < 2 * len(broken):
                run, verdict = broken[fate // 2], judged[fate // 2]
                shutil.copytree(run, home / verdict.job, dirs_exist_ok=True)
                write_record(home / verdict.job / "verdict.json", replace(verdict, host=name))
    return folder


@cache
def _judge_good_runs():
    return [judge_run(run) for run in RUNS]


def _leave(home, stage, state, message):
    why = Complaint.parse(message.format(home.name))
    left = Outcome(host=home.name, stage=stage, state=state, message=why.message, fix=why.fix)
    write_record(home / "outcome.json", left)


def _alter(run, edits, copy):
    shutil.copytree(run, copy)
    for edit in edits:
        edit(copy)
    return copy


if __name__ == "__main__":
    many_hosts(Path(sys.argv[1]), int(sys.argv[2]))
