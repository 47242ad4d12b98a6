# SPDX-License-Identifier: Apache-2.0
"""Runs one job on this machine by its driver, for scripts, benchmarks and tests."""

import os
import secrets
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from rekindle.host import folders
from rekindle.host.payload import pack_payload, write_payload
from rekindle.jobs import NoRunError, make_verdict, prepare_spec
from rekindle.judge import judge_run
from rekindle.records import Job, VerdictRecord
from rekindle.records.layout import env_in, host_in, plan_in, progress_in

_GRACE_S = 900
"""The driver ends a job at its limit by itself, and looks for the first step that fails."""


def start_here(
    job: Job, jobs: Path, host_folder: Path, work: Path, others: Mapping[str, Path] = MappingProxyType({})
) -> VerdictRecord | None:
    """Start ``job`` as the run ``work/run``; returns the verdict of one that cannot run here.

    Args:
        job: what to run.
        jobs: folder of the jobs whose code it runs.
        host_folder: host.json, plan.json and env.json of this machine.
        work: folder for all that the run needs and leaves.
        others: folders of the code of jobs that do not lie there, by name.

    Raises:
        RecordError: a record is missing or broken.
    """
    host, plan, env = host_in(host_folder), plan_in(host_folder), env_in(host_folder)
    try:
        spec = replace(prepare_spec(job, host, plan, env, str(work)), nonce=secrets.token_hex(16))
    except NoRunError as reason:
        return make_verdict(job, host.host, reason.verdict, reason.message, reason.fix)
    driver = next(built.python for built in env.environments if built.framework == "driver")
    subprocess.run(
        [driver, "-m", "rekindle.driver", "start", str(work / "run")],
        input=msgspec.json.encode(spec),
        env={**os.environ, "PYTHONPATH": str(write_payload(pack_payload(jobs, others), work / "payload"))},
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    return None


def run_here(job: Job, jobs: Path, host_folder: Path, work: Path) -> VerdictRecord:
    """Start ``job`` as ``start_here`` does, wait for its end, and judge it.

    Raises:
        RecordError: a record is missing or broken.
        TimeoutError: the driver did not end it long after the job's own limit.
    """
    refused = start_here(job, jobs, host_folder, work)
    if refused is not None:
        return refused
    run = work / "run"
    end = time.monotonic() + job.limit_s + _GRACE_S
    while not (run / folders.PROGRESS).exists() or progress_in(run).state != "ended":
        if time.monotonic() > end:
            raise TimeoutError(f"{job.name} did not end. Fix: see {run / folders.DRIVER_LOG}.")
        time.sleep(0.5)
    return judge_run(run)
