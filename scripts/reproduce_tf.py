# SPDX-License-Identifier: Apache-2.0
"""Run tf_mirrored as it seems to deadlock, and as it passes; print both verdicts and durations.

    .venv/bin/python scripts/reproduce_tf.py HOST_FOLDER

HOST_FOLDER is results/<run>/<host> of this machine: host.json, plan.json and env.json with a TensorFlow
environment. `make reproduce-tf` makes one first. It needs two GPUs.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from run_here import run_here

from rekindle.jobs import load_job

JOBS = Path(__file__).parents[1] / "flare_jobs"
STARVED = (
    (
        "job.py",
        "import tensorflow",
        'import os\n\nos.environ.pop("CUDA_VISIBLE_DEVICES")\n\nimport tensorflow',
    ),
    ("client.py", "import numpy", 'os.environ.pop("TF_FORCE_GPU_ALLOW_GROWTH")\n\nimport numpy'),
    ("client.py", "from model", "tf.config.experimental.set_memory_growth = lambda *_: None\nfrom model"),
)
"""The two mistakes: job.py, and so NVFlare's server and clients, see the GPUs; trainers take all memory."""


def starve(jobs: Path) -> None:
    """Put the two mistakes into the copy of tf_mirrored in ``jobs``."""
    for name, old, new in STARVED:
        path = jobs / "tf_mirrored" / name
        text = path.read_text(encoding="utf-8")
        if old not in text:
            raise SystemExit(
                f"{path} has no {old!r} any more. Fix: bring scripts/reproduce_tf.py up to date."
            )
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def main() -> int:
    """Run both; 0 if the starved run failed and the cured one passed."""
    verdicts = {}
    for name in ("starved", "cured"):
        with tempfile.TemporaryDirectory() as folder:
            jobs = Path(shutil.copytree(JOBS, Path(folder, "jobs")))
            if name == "starved":
                starve(jobs)
            job = load_job(jobs, "tf_mirrored")
            verdict = verdicts[name] = run_here(job, jobs, Path(sys.argv[1]), Path(folder))
            print(
                f"{name:8} {verdict.verdict:5} {verdict.duration_s or 0:6.1f} s  {verdict.cause or ''}",
                flush=True,
            )
    return 0 if (verdicts["starved"].verdict, verdicts["cured"].verdict) == ("FAIL", "PASS") else 1


if __name__ == "__main__":
    sys.exit(main())
