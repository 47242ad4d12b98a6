# SPDX-License-Identifier: Apache-2.0
"""Times `make site` cold and site.yml again, beside the bare job.py: what Rekindle costs on top of NVFlare.

    .venv/bin/python benchmarks/site.py

A fresh clone of HEAD and an empty home folder (so no cache of pip's or uv's, and no ~/rekindle) in a
temporary folder; cold once, then warm and bare in turn, three times; medians.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from rekindle.driver.command import make_job_command
from rekindle.records import RunSpec, read_record

REPOSITORY = Path(__file__).parents[1]
REPEATS = 3
AGAIN = ["ansible-playbook", "site.yml", "-i", "inventories/local", "-e", "rerun=true"]


def timed(command: list[str], cwd: Path, environ: dict[str, str]) -> float:
    """Run ``command``, which has to succeed; returns wall seconds."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return time.monotonic() - began


def bare(clone: Path, home: Path, environ: dict[str, str]) -> float:
    """Run the job as the last site.yml did, but without Rekindle's driver; returns wall seconds."""
    run = next((home / "rekindle" / "runs").glob("pt_ddp-*"))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "job")
        shutil.copytree(clone / "flare_jobs" / "pt_ddp", work)
        spec = read_record(run / "spec.json", RunSpec)
        sites = ",".join(site.name for site in spec.sites)
        gpus = ",".join("[cpu,cpu]" for _ in spec.sites)
        options = make_job_command(run, spec)[4:]
        job = [spec.python, "job.py", "--client_ids", sites, "--gpu", gpus, "--num_rounds", "3", *options]
        return timed(job, work, {**environ, "PYTHONPATH": str(clone / "src"), "CUDA_VISIBLE_DEVICES": ""})


def main() -> None:
    """Print one table."""
    with tempfile.TemporaryDirectory() as folder:
        clone, home = Path(folder, "clone"), Path(folder, "home")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
        configured = {"PYENV_ROOT": os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))}
        environ = {**os.environ, **configured, "HOME": str(home)}
        # Without bytecode each process of the bare job would compile all that it imports.
        for name in ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"):
            environ.pop(name, None)
        cold = timed(["make", "site"], clone, environ)
        warm, floor = [], []
        for _ in range(REPEATS):
            warm.append(timed(AGAIN, clone, {**environ, "PATH": f"{clone}/.venv/bin:{environ['PATH']}"}))
            floor.append(bare(clone, home, environ))
    base = median(floor)
    print(f"{'':28}{'seconds':>9}{'ratio':>7}")
    for name, value in (("bare job.py", base), ("site.yml, again", median(warm)), ("make site, cold", cold)):
        print(f"{name:28}{value:9.1f}{value / base:7.2f}")


if __name__ == "__main__":
    main()
