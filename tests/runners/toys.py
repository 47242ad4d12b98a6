# SPDX-License-Identifier: Apache-2.0
"""A job that is a few lines of Python, started by the driver as on a host; what tests wait for in its run."""

import os
import subprocess
import sys

import msgspec
import psutil
from msgspec.structs import replace

from rekindle.host.look import is_held
from rekindle.host.payload import pack_payload, write_payload
from rekindle.records import Claim, Example, Job, RunSpec, Site
from runners.waits import until

STUBBORN = """
import os, signal, subprocess, sys, time
code = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print(flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.read(1)
os.kill(child.pid, signal.SIGSTOP)
open("child.pid", "w").write(str(child.pid))
time.sleep(600)
"""


def toy(tmp_path, script, limit_s=60, silence_s=60, name="a run's folder", **fields):
    """Return the folder of a run of a job.py, and what calls the driver's ``start`` for it.

    Other ``fields`` are the spec's, or its job's.
    """
    jobs = tmp_path / "jobs"
    example = fields.pop("example", Example(command=("job.py",)))
    of_job = {"container": fields.pop("container")} if "container" in fields else {}
    (jobs / "toy").mkdir(parents=True)
    (jobs / "toy" / "job.py").write_text(script)
    job = Job(
        schema="rekindle/job/1",
        name="toy",
        summary="",
        environment="torch",
        sites=1,
        ranks_per_site=1,
        rounds=1,
        when_short_of_gpus="share",
        limit_s=limit_s,
        example=example,
        proof=(Claim(claim="rounds_completed"),),
        **of_job,
    )
    run = tmp_path / name
    spec = RunSpec(
        nonce="of this run",
        host="h",
        job=job,
        sites=(Site(name="site-1", ranks=1, gpus=()),),
        lock_sha256="0" * 64,
        tmpdir=str(run.parents[1] / "tmp" if run.parent.name == "runs" else tmp_path),
        silence_s=silence_s,
        **{"python": sys.executable, "versions": {}, **fields},
    )
    environ = {**os.environ, "PYTHONPATH": str(write_payload(pack_payload(jobs), tmp_path / "payload"))}

    def start(verb="start", nonce="of this run"):
        command = [sys.executable, "-m", "rekindle.driver", verb, str(run)]
        given = msgspec.json.encode(replace(spec, nonce=nonce))
        done = subprocess.run(command, input=given, env=environ, capture_output=True, check=True, timeout=30)
        return {b"started\n": True, b"": False}[done.stdout]

    return run, start


def wait_for(path, limit_s=300):
    """Return a file's path once there is something in it."""
    until(lambda: path.exists() and path.stat().st_size, limit_s, f"{path} did not come")
    return path


def wait_for_end(run):
    """Return the run's folder once its supervisor has let go of it."""
    lock = run / "driver.lock"
    until(lambda: lock.exists() and not is_held(lock), 300, "the supervisor goes on")
    return run


def child_pid(run):
    return int(wait_for(run / "job" / "child.pid").read_text())


def assert_gone(pid):
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=5)
    assert not psutil.pid_exists(pid)


def supervisor_of(run):
    (found,) = [p for p in psutil.process_iter(["cmdline"]) if str(run) in (p.info["cmdline"] or [])]
    return found
