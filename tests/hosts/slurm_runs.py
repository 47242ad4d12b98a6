# SPDX-License-Identifier: Apache-2.0
"""Runs on the SLURM cluster of the lab: what they ask for, and what is done to them."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

from runners.plays import REPOSITORY, play

from rekindle.records import Progress, RecordError, VerdictRecord, read_record

PT_DDP = ("-e", "rekindle_jobs=pt_ddp", "-e", "rerun=true")
ASKED = {"partition": "gpu", "nodes": 2, "gpus_per_node": 2, "time": "00:30:00"}


def asked(**changes):
    """Return what has playbooks ask SLURM for something else than ASKED."""
    return "-e", json.dumps({"rekindle_slurm": {**ASKED, **changes}})


def in_mid_run(cluster, playbook, results, act, *more, cwd=REPOSITORY):
    """Run a playbook, and ``act`` as soon as pt_ddp has trained for a round."""
    began = time.time()
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, playbook, cluster.inventory, results, *more, cwd=cwd)
        while not playing.done() and not _trains(cluster, began):
            time.sleep(0.2)
        assert not playing.done(), playing.result().output
        act()
        return playing.result()


def _trains(cluster, since):
    """Whether a run of pt_ddp has told ``since`` that it trains; one that was killed does forever."""
    for path in cluster.shared.glob("rekindle/runs/pt_ddp-*/progress.json"):
        try:
            answer, progress = path.stat().st_mtime, read_record(path, Progress)
        except (OSError, RecordError):
            continue
        if answer > since and progress.state == "running" and progress.message.startswith("round"):
            return True
    return False


def built(site, folder):
    """Return results in ``folder`` from which pt_ddp can be validated again, where ``site`` built for it."""
    shutil.copytree(site.results, folder)
    path = folder / "login/plan.json"
    plan = json.loads(path.read_text())
    for job in plan["jobs"]:
        shutil.rmtree(folder / "login" / job)
        for left in (folder / "login").glob(f"{job}.*"):
            left.unlink()
    path.write_text(json.dumps({**plan, "jobs": ["pt_ddp"]}))
    return folder


def verdict(done, job="pt_ddp"):
    """Return the verdict on a job of a play."""
    return read_record(done.results / "login" / job / "verdict.json", VerdictRecord)
