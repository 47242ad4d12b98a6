# SPDX-License-Identifier: Apache-2.0
"""A survey of an allocation's nodes, on its way to them: queued once, and a player on each node."""

import json
import time

import pytest

from rekindle.fabric.__main__ import SPEC, start_part, start_players
from rekindle.host import queues

ASKED = {"room": "slurm", "partition": "gpu", "nodes": 2, "gpus_per_node": 8, "time": "02:00:00"}
PART = {"allocation": ASKED, "hosts": [], "address": "", "gpus": ["GPU-1"], "python": "/env/bin/python"}


def test_it_waits_in_the_queue_once(queue, tmp_path):
    folder = tmp_path / "fabric"
    queue.set("squeue", "PENDING|Resources|N/A\n")
    for _ in range(2):
        start_part(folder, json.dumps(PART))
    assert len(queue.asked("sbatch")) == 1
    script = (folder / "batch.sh").read_text()
    assert script.rstrip().endswith(f"-m rekindle.fabric lead {folder}")
    assert "#SBATCH --nodes=2\n" in script
    assert not (folder / "player.log").exists()
    queue.set("squeue", "")  # it ended, and is measured again
    start_part(folder, json.dumps(PART))
    assert len(queue.asked("sbatch")) == 2


def test_what_slurm_refuses_is_said(queue, tmp_path):
    queue.set("sbatch", errors="sbatch: error: invalid partition", status=1)
    with pytest.raises(queues.QueueError, match="invalid partition"):
        start_part(tmp_path / "fabric", json.dumps(PART))


def test_each_node_has_a_player_in_a_step_of_its_own(queue, tmp_path, monkeypatch):
    for name, value in (("SLURM_JOB_NODELIST", "n[9-10]"), ("SLURMD_NODENAME", "n10")):
        monkeypatch.setenv(name, value)
    queue.set("scontrol", "n9\nn10\n")
    took = tmp_path / "steps"
    queue.put("srun", f'#!/bin/sh\necho "$*" >>{took}\n')
    spec = start_players(tmp_path, PART)
    assert (spec["hosts"], spec["address"]) == (("n10", "n9"), "n10")  # this one is first
    assert json.loads((tmp_path / SPEC).read_bytes())["hosts"] == ["n10", "n9"]
    ends = time.monotonic() + 10
    while not (took.exists() and took.read_text().count("\n") == 2) and time.monotonic() < ends:
        time.sleep(0.05)
    play = f"/env/bin/python -m rekindle.fabric play {tmp_path}"
    steps = took.read_text()
    for node in ("n9", "n10"):
        assert f"--nodelist={node} --cpu-bind=none {play}\n" in steps
    queue.set("scontrol", errors="no", status=1)
    with pytest.raises(queues.QueueError, match="scontrol does not list the job's nodes"):
        start_players(tmp_path, PART)
