# SPDX-License-Identifier: Apache-2.0
"""Environments on nodes' own disks: what is written down of them in the root, and their end."""

import pytest

from rekindle.host import disks

ASKED = {"partition": "gpu", "nodes": 2, "gpus_per_node": 8, "time": "02:00:00", "extra": ["--qos=high"]}


@pytest.fixture
def local(tmp_path):
    """Return a folder on a node's own disk."""
    folder = tmp_path / "disk/rekindle-0123456789ab"
    (folder / "envs/torch-0").mkdir(parents=True)
    return folder


@pytest.fixture
def root(tmp_path, monkeypatch, spec, local):
    """Return a root of whose environments two nodes have any."""
    disks.keep(tmp_path, ASKED, [spec, {**spec, "name": "toy", "local": str(local)}])
    for node in ("n9", "n10"):
        monkeypatch.setenv("SLURMD_NODENAME", node)
        disks.note(tmp_path, str(local))
    disks.note(tmp_path, "")
    return tmp_path


def test_what_belongs_on_nodes_is_known_by_the_name_of_its_folder(root, spec, local):
    assert disks.kept(root, f"toy-{spec['lock_sha256'][:12]}")["local"] == str(local)
    with pytest.raises(FileNotFoundError):
        disks.kept(root, f"driver-{spec['lock_sha256'][:12]}")


def test_each_node_is_asked_to_remove_its_own(root, queue, local):
    removes = "for word; do last=$word; done\nrm -r $last\n"
    queue.put("srun", f'#!/bin/sh\necho "$*" >> {queue.folder}/srun.asked\n{removes}')
    assert len(disks.clear(root)) == 1  # they are one machine here, and the second finds nothing
    asked = [line.split() for line in queue.asked("srun")]
    assert sorted(words[3] for words in asked) == ["--nodelist=n10", "--nodelist=n9"]
    for words in asked:
        assert words[-4:] == ["rm", "-rf", "--", str(local)]
        assert {"--partition=gpu", "--qos=high", "--time=00:05:00", "--immediate=60"} <= set(words)
        assert not [word for word in words if word.startswith(("--gpus", "--nodes=2"))]
    assert not local.exists()


def test_a_node_that_is_not_given_is_named_with_what_it_keeps(root, queue, local):
    queue.set("srun", errors="srun: error: Unable to allocate resources: Requested nodes are busy", status=1)
    fix = "Fix: remove it there, once the node can be reached."
    why = "srun: error: Unable to allocate resources: Requested nodes are busy"
    assert disks.clear(root) == [f"{node} keeps {local}: {why}. {fix}" for node in ("n10", "n9")]


def test_a_root_without_any_asks_slurm_for_nothing(tmp_path, queue):
    assert disks.clear(tmp_path) == []
    assert queue.asked("srun") == []
