# SPDX-License-Identifier: Apache-2.0
"""The names in a run's folder, and in Rekindle's folder on a host; each is defined only here."""

from pathlib import Path

# A run's folder: <root>/runs/<job>-<digest>/ on the host, results/<run>/<host>/<job>/ on the controller.
SPEC = "spec.json"
PROGRESS = "progress.json"
ENDED = "ended.json"
VERDICT = "verdict.json"
LADDER_RECORD = "ladder.json"
RECORDS = (SPEC, PROGRESS, ENDED, VERDICT, LADDER_RECORD)
LEFT = "left.json"
"""Files that stayed on the host; only in collected runs."""
SAMPLES = "samples.jsonl"
ALL_SAMPLES = "samples*.jsonl"
"""That file, or those of each node of a run over several."""
EVIDENCE = "evidence"
EVENTS = f"{EVIDENCE}/*.jsonl"
"""Of trainers and NVFlare's server."""
IMPORT_ERROR = "import-error.txt"
"""In `EVIDENCE`: what a trainer could not import, by which the driver ends the run."""
SERVER_EVENTS = f"{EVIDENCE}/server.jsonl"
"""Of our component at the server, in a run's first simulation."""
JOB = "job"
"""A copy of the job's code, in which it runs; also has NVFlare's workspace."""
WORKSPACE = "workspace"
"""Of NVFlare's simulator, in `JOB`."""
NOT_THE_SERVERS = frozenset({"cross_site_val", "custom"})
"""Folders in that: models that sites sent to be evaluated, and what the job brought, as a checkpoint."""
HOOK = "hook"
"""Loaded first by an example's processes."""
DATA = "data"
"""An example's stand-ins for data sets that are not reached."""
CLOCK = "clock.json"
"""The offset of the host's clock from the controller's; only in collected runs."""
JOB_LOG = "job.log"
DRIVER_LOG = "driver.log"
DRIVER_LOCK = "driver.lock"
"""Held by a run's supervisor as long as it lives."""
AUTOPSY = "autopsy"
LADDER = "ladder"
"""Evidence and log of the trainers that ran once more without NVFlare."""

# A host's folder of results, results/<run>/<host>/; the play's own record lies above it.
PLAY_RECORD = "run.json"
LATEST = "latest"
"""Beside the runs: a link to the newest one, wherever that lies."""
PLACED = ".placed.json"
"""Ends the name of a record in a host's folder of results: of a job that was sent there."""
EARLIER = "earlier"
"""In a host's folder of results: runs before the latest ones of their jobs."""
REPORTS = ("report.html", "results.json", "junit.xml", "metrics.prom")
"""Of a results folder, written by the last playbook in it."""
SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
"""Beside the hosts' folders: the digests of all files of results, signed."""
HOSTS = "hosts"
"""Beside the hosts' folders: the names of those that failed alike, a file a cause, for ``--limit``."""
LEASE_RECORD = "lease.json"
HOST_RECORD = "host.json"
LOGIN_RECORD = "login.json"
"""Of a cluster's login node; host.json is then of an allocated node."""
PLAN_RECORD = "plan.json"
LINK_RECORD = "link.json"
"""Of a federation's site: the way to its server."""
PAYLOAD_RECORD = "payload.json"
ENV_RECORD = "env.json"
LOCKS = "locks"
"""Of the environments in env.json, and of planned ones that are not Rekindle's own."""
STANDING_RECORD = "standing.json"
IMAGES_RECORD = "images.json"
KIT_RECORD = "kit.json"
"""Of a host in a federation."""
ACCEPTANCE_RECORD = "acceptance.json"
FABRIC_RECORD = "fabric.json"
"""Beside the hosts' folders: what was measured between them."""
OUTCOME_RECORD = "outcome.json"
REFUSAL_RECORD = "refusal.json"
"""The outcome of a check; no run's record has it."""
SEEN_RECORD = "seen.json"
RETIRED_RECORD = "retired.json"

FEDERATIONS = "federations"
"""Beside the hosts' folders: the runs of federations, each a job of the host of that name."""
PART = "federation"
"""In a host's folder of results: what was placed there of federations' runs; in its root: its kits."""
MEMBER = "member.json"
"""Beside the kits on a host: what it is in the federation."""

# Rekindle's folder on a host, `rekindle_root`.
RUNS = "runs"
ENVS = "envs"
JOBS = "jobs"
"""The payload."""
CACHE = "cache"
LOGS = "logs"
PYTHONS = "pythons"
"""Those that the controller brought."""
TMP = "tmp"
OURS = (ENVS, PYTHONS, RUNS, TMP, CACHE, LOGS, JOBS, PART)
BUILDS = f"{LOGS}/environments"
"""Of the build of environments: specs.json, progress.json, log.txt."""
REACH = f"{LOGS}/reach"
"""Of a listener in place of a federation's server: a folder for each port."""
FABRIC = f"{LOGS}/fabric"
"""Of a host's part in a survey of the fabric: part.json, progress.json, fabric.json, logs."""
FABRIC_LOCK = "lock"
BUILD_LOCK = f"{BUILDS}/lock"
IMAGES = f"{CACHE}/images"
"""Of containers, where they are files."""
UV = f"{CACHE}/bin/uv"
UV_CACHE = f"{CACHE}/uv"
ENV_MARKER = "rekindle-env.json"
"""In a complete environment: its specification and its record."""


def name_samples(node: str | None) -> str:
    """Return the name of the samples of a node, or of the one machine that a run is on."""
    return f"samples-{node}.jsonl" if node else SAMPLES


def name_server_events(simulation: str) -> str:
    """Return the evidence file of the server of a later simulation of one run, by its workspace."""
    return f"{EVIDENCE}/server.{simulation}.jsonl"


def parse_recorder(file: str) -> tuple[str, str]:
    """Return which site of swarm learning wrote a file, and the server's of that simulation; else itself."""
    site, found, rest = Path(file).name.partition(".server.")
    return (site, f"{EVIDENCE}/server.{rest}") if found else ("", file)


def find_root(run_dir: Path) -> Path:
    """Return the root that a run's folder on a host lies in."""
    return run_dir.parents[1]


def locate_environment(root: Path, name: str, lock_sha256: str) -> Path:
    """Return the folder of the environment of framework ``name`` that is built from a lock."""
    return root / ENVS / f"{name}-{lock_sha256[:12]}"


def locate_marker(root: Path, name: str, lock_sha256: str) -> Path:
    """Return the file that marks that environment as complete."""
    return locate_environment(root, name, lock_sha256) / ENV_MARKER


def locate_wheels(root: Path, lock_sha256: str) -> Path:
    """Return where the wheels of a lock lie on a host that installs without a network."""
    return root / CACHE / "wheelhouse" / lock_sha256[:12]
