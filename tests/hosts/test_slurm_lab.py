"""The SLURM cluster that the lab boots: two nodes that work together, ways to fail, and its end."""

import subprocess

import pytest
from lab import LabError
from lab.slurm import Node, SlurmLab
from slurm_runs import until
from traces import kernel, traces

WAITS = "#!/bin/sh\nuntil [ -e go ]; do sleep 0.1; done\necho went\n"


@pytest.fixture(scope="module")
def cluster(named):
    lab = SlurmLab(named("slurm"))
    try:
        lab.up()
        yield lab
    finally:
        lab.down()


def state(cluster, job):
    return cluster.run("login", f"squeue --noheader --states=all --format=%T --jobs={job}").strip()


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


def test_the_shared_folder_is_one_and_a_node_may_lose_it_until_it_boots(cluster):
    (cluster.shared / "given").write_text("by this machine\n")
    srun(cluster, "--nodes=2", "hostname > $(hostname)")
    assert [(cluster.shared / node).read_text() for node in ("n9", "n10")] == ["n9\n", "n10\n"]
    assert (cluster.shared / "n10").stat().st_uid == 1000
    look = "cd /shared; cat given n9 n10 2>/dev/null; true"
    assert cluster.run("n9", look) == cluster.run("n10", look) == "by this machine\nn9\nn10\n"
    cluster.lose_shared("n10")
    assert (cluster.run("n9", look), cluster.run("n10", look)) == ("by this machine\nn9\nn10\n", "")
    cluster.hosts["n10"].cut_power()
    cluster.up([])
    assert cluster.run("n10", look) == "by this machine\nn9\nn10\n"


def test_a_job_outlives_its_controller(cluster):
    (cluster.shared / "waits").write_text(WAITS)
    job = cluster.run("login", "cd /shared && sbatch --parsable --nodes=2 --output=said waits").strip()
    until(lambda: state(cluster, job) == "RUNNING")
    before = cluster.run("login", "pgrep -x slurmctld")
    cluster.restart_controller()
    assert cluster.run("login", "pgrep -x slurmctld") != before
    assert state(cluster, job) == "RUNNING"
    (cluster.shared / "go").touch()
    until(lambda: state(cluster, job) == "COMPLETED")
    assert (cluster.shared / "said").read_text() == "went\n"


def test_a_node_that_is_cut_is_down_after_its_time_and_named(cluster):
    """And the job on both nodes ends; the node comes back when it boots."""
    cluster.configure(SlurmdTimeout="5")
    sleeps = cluster.ssh("login", "cd /shared && srun --nodes=2 sh -c 'hostname; sleep 600'")
    with subprocess.Popen(sleeps, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert {job.stdout.readline(), job.stdout.readline()} == {"n9\n", "n10\n"}
        cluster.hosts["n10"].cut_power()
        assert cluster.states()["n10"] == "mixed"
        until(lambda: cluster.states()["n10"] == "down*")
        assert "Node failure on n10" in job.communicate()[1]
    assert cluster.run("login", "sinfo --noheader --list-reasons --format='%n %E'") == "n10 Not responding\n"
    cluster.up([])
    assert cluster.states() == {"n9": "idle", "n10": "idle"}


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


def test_a_node_whose_clock_is_wrong_believes_no_other(cluster):
    """The last to use this cluster: SLURM tries only a minute later again to end the job there."""
    cluster.skew_clock("n10", 1200)
    refused = r"Task launch for StepId=.* failed on node n10|Required node not available"
    with pytest.raises(LabError, match=refused):  # the second where slurmctld asked n10 before us
        srun(cluster, "--nodes=2", "hostname")
    assert "Expired credential" in cluster.run("n10", "cat /var/log/slurm/slurmd.log", "root")
    cluster.skew_clock("n10", 0)
    assert "Success" in cluster.run("n10", f"echo '{cluster.run('n9', 'munge -n')}' | unmunge")


def test_nothing_is_left_of_it(cluster):
    number = cluster.number
    assert traces(cluster)
    cluster.down()
    assert traces(cluster) == []
    assert kernel(number) == (set(), set(), set(), set())
