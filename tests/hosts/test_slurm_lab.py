# SPDX-License-Identifier: Apache-2.0
"""The SLURM cluster that the lab boots: two nodes that work together, and its end.

test_slurm.py and test_slurm_faults.py need its ways to fail, and show that they work.
"""

import pytest
from lab import LabError
from lab.slurm import Node, SlurmLab
from traces import kernel, traces


@pytest.fixture(scope="module")
def cluster(named):
    lab = SlurmLab(named("slurm"))
    try:
        lab.up()
        yield lab
    finally:
        lab.down()


def srun(cluster, options, command):
    """Return what each task said, in the order of their ranks."""
    said = cluster.run("login", f"cd /shared && srun --label --immediate=30 {options} sh -c '{command}'")
    return [line.partition(": ")[2] for line in sorted(said.splitlines())]


def test_the_nodes_are_idle_and_in_the_order_of_their_numbers(cluster):
    assert list(cluster.states().items()) == [("n9", "idle"), ("n10", "idle")]


def test_a_job_over_both_has_the_gpus_that_it_asks_for(cluster):
    command = "echo $SLURM_NODEID $(hostname) ${CUDA_VISIBLE_DEVICES-none}"
    assert srun(cluster, "--nodes=2 --gpus-per-node=2", command) == ["0 n9 0,1", "1 n10 0,1"]
    assert srun(cluster, "--nodes=2", command) == ["0 n9 none", "1 n10 none"]
    with pytest.raises(LabError, match="Requested node configuration is not available"):
        srun(cluster, "--nodes=2 --gpus-per-node=3", command)


def test_one_that_failed_half_way_leaves_nothing_and_is_nothing_to_another(cluster, named, monkeypatch):
    start = Node.start

    def fails(self):
        if self.name == "n10":
            raise LabError("n10 is broken.")
        start(self)

    monkeypatch.setattr(Node, "start", fails)
    lab = SlurmLab(named("half"))
    with pytest.raises(LabError, match="n10 is broken"):
        lab.up()
    number = lab.number
    assert traces(lab)
    assert all(list(kernel(number))[:3])
    lab.down()
    assert traces(lab) == []
    assert kernel(number) == (set(), set(), set(), set())
    assert srun(cluster, "--nodes=2", "hostname") == ["n9", "n10"]


def test_nothing_is_left_of_it(cluster):
    number = cluster.number
    assert traces(cluster)
    cluster.down()
    assert traces(cluster) == []
    assert kernel(number) == (set(), set(), set(), set())
