"""What lies where in a run's folder, and in Rekindle's folder on a host: each name stands here alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

# A run's folder: <root>/runs/<job>-<digest>/ on the host, results/<run>/<host>/<job>/ at home.
SPEC = "spec.json"
PROGRESS = "progress.json"
ENDED = "ended.json"
VERDICT = "verdict.json"
LADDER_RECORD = "ladder.json"
RECORDS = (SPEC, PROGRESS, ENDED, VERDICT, LADDER_RECORD)
LEFT = "left.json"
"""What stayed on the host; in runs that came home alone."""
SAMPLES = "samples.jsonl"
ALL_SAMPLES = "samples*.jsonl"
"""That file, or those of each node of a run over several."""
EVIDENCE = "evidence"
EVENTS = f"{EVIDENCE}/*.jsonl"
"""What trainers and NVFlare's server wrote down."""
SERVER_EVENTS = f"{EVIDENCE}/server.jsonl"
"""What our component at the server wrote, of a run's only simulation or the first."""
JOB = "job"
"""A copy of the job's code, which it runs in; NVFlare's workspace comes there too."""
WORKSPACE = "workspace"
"""Of NVFlare's simulator, in `JOB`."""
HOOK = "hook"
"""Which an example's processes load first."""
DATA = "data"
"""An example's stand-ins for data sets that are not reached."""
CLOCK = "clock.json"
"""How far the host's clock is from the controller's; in collected runs."""
JOB_LOG = "job.log"
"""What job.py printed."""
DRIVER_LOG = "driver.log"
DRIVER_LOCK = "driver.lock"
"""Held by a run's supervisor as long as it lives."""
AUTOPSY = "autopsy"
LADDER = "ladder"
"""What the trainers left that ran once more without NVFlare."""

# A host's folder of results, results/<run>/<host>/; the play's own record lies above it.
PLAY_RECORD = "run.json"
EARLIER = "earlier"
"""In a host's folder of results: runs before the latest ones of their jobs."""
RESULTS_SEAL = "results.seal.json"
LEASE_RECORD = "lease.json"
HOST_RECORD = "host.json"
LOGIN_RECORD = "login.json"
"""Of a SLURM cluster's login node, where host.json is of a node that SLURM gave."""
PLAN_RECORD = "plan.json"
PAYLOAD_RECORD = "payload.json"
ENV_RECORD = "env.json"
STANDING_RECORD = "standing.json"
IMAGES_RECORD = "images.json"
ACCEPTANCE_RECORD = "acceptance.json"
"""What a job that measures the host found, held against norms."""
OUTCOME_RECORD = "outcome.json"
REFUSAL_RECORD = "refusal.json"
"""The outcome of a check, which says nothing of a run."""
SEEN_RECORD = "seen.json"
RETIRED_RECORD = "retired.json"

# Rekindle's folder on a host, `rekindle_root`.
RUNS = "runs"
ENVS = "envs"
JOBS = "jobs"
"""The payload."""
CACHE = "cache"
LOGS = "logs"
TMP = "tmp"
OURS = (ENVS, RUNS, TMP, CACHE, LOGS, JOBS)
"""All that Rekindle makes in it."""
BUILDS = f"{LOGS}/environments"
"""How far the build of environments is: specs.json, progress.json, log.txt."""
LOCAL = f"{LOGS}/local"
"""Of environments on nodes' own disks: what each is built from, and a file for each node that has any."""
BUILD_LOCK = f"{BUILDS}/lock"
"""Held by who builds them."""
UV = f"{CACHE}/bin/uv"
UV_CACHE = f"{CACHE}/uv"
ENV_MARKER = "rekindle-env.json"
"""In an environment that is whole: what it was made of, and its record."""


def samples(node: str | None) -> str:
    """Return the name of the samples of a node, or of the one machine that a run is on."""
    return f"samples-{node}.jsonl" if node else SAMPLES


def server_events(simulation: str) -> str:
    """Return where our component writes at the server of a later simulation of one run, by its workspace."""
    return f"{EVIDENCE}/server.{simulation}.jsonl"


def root_of(run_dir: Path) -> Path:
    """Return the root that a run's folder on a host lies in."""
    return run_dir.parents[1]


def environment(root: Path, name: str, lock_sha256: str) -> Path:
    """Return the folder of the environment of framework ``name`` that is built from a lock."""
    return root / ENVS / f"{name}-{lock_sha256[:12]}"


def on_disk(disk: str, root: Path) -> Path:
    """Return the folder below a node's own ``disk`` for the environments of a root that the nodes share."""
    return Path(disk, f"rekindle-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}")


def marker(root: Path, name: str, lock_sha256: str) -> Path:
    """Return the file by which that environment is known to be whole."""
    return environment(root, name, lock_sha256) / ENV_MARKER


def wheels(root: Path, lock_sha256: str) -> Path:
    """Return where the wheels of a lock lie on a host that installs without a network."""
    return root / CACHE / "wheelhouse" / lock_sha256[:12]
