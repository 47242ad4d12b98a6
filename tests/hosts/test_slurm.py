"""site.yml on the login node of a SLURM cluster: what it runs on two nodes, and what becomes of it there."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from lab.slurm import SlurmLab
from lab.wheels import fill_wheelhouse
from plays import play

from rekindle.records import Progress, RecordError, RunSpec, VerdictRecord, read
from rekindle.records.events import DeviceEvent
from rekindle.records.evidence import read_lines

ASKED = {"partition": "gpu", "nodes": 2, "gpus_per_node": 2, "time": "00:30:00"}


@pytest.fixture(scope="module")
def cluster(named):
    """Return a cluster for whose nodes every wheel is here."""
    lab = SlurmLab(named("jobs"))
    try:
        lab.up()
        fill_wheelhouse(lab)
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="module")
def site(cluster, tmp_path_factory):
    """Return a run of site.yml, in the midst of which SLURM's controller started anew."""
    results = tmp_path_factory.mktemp("results") / "site"
    return in_mid_run(cluster, results, cluster.restart_controller)


def in_mid_run(cluster, results, act, *more):
    """Run site.yml, and ``act`` as soon as its job has trained for a round."""
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, "site.yml", cluster.inventory, results, *more, timeout=1200)
        while not playing.done() and not trains(cluster):
            time.sleep(0.2)
        assert not playing.done(), playing.result().output
        act()
        return playing.result()


def trains(cluster):
    """Whether a run there has begun with its first round, and not ended."""
    for path in cluster.shared.glob("rekindle/runs/pt_ddp-*/progress.json"):
        try:
            progress = read(path, Progress)
        except RecordError:
            continue
        if progress.state == "running" and progress.says.startswith("round"):
            return True
    return False


def verdict(done):
    return read(done.results / "login/pt_ddp/verdict.json", VerdictRecord)


def test_it_passes_with_ranks_on_both_nodes(site):
    assert (verdict(site).verdict, verdict(site).cause) == ("PASS", None), site.output
    assert site.status == 0
    run = site.results / "login/pt_ddp"
    spec = read(run / "spec.json", RunSpec)
    assert set(spec.nodes) == {"n9", "n10"}
    started = [line.event for line in read_lines(run) if isinstance(line.event, DeviceEvent)]
    told = {(event.site, event.rank): event.node for event in started}
    expected = {(site.name, rank): spec.node_of(site, rank) for site in spec.sites for rank in range(4)}
    assert told == expected
    assert (run / "batch.sh").read_text().startswith("#!/bin/sh\n#SBATCH --job-name=rekindle-pt_ddp-")


def test_nothing_of_it_is_left_on_any_node(site, cluster):
    assert cluster.run("login", "squeue --noheader") == ""
    for node in ("login", "n9", "n10"):
        assert "rekindle/envs" not in cluster.run(node, "ps -e -o args=")


def test_a_node_that_is_lost_is_named(site, cluster, tmp_path):
    cut = cluster.hosts["n10"].cut_power
    done = in_mid_run(cluster, tmp_path / "cut", cut, "-e", "rerun=true")
    assert done.status != 0
    assert verdict(done).verdict in {"FAIL", "UNPROVEN"}
    assert "n10" in verdict(done).cause
    cluster.up()


def asked(**changes):
    return "-e", json.dumps({"rekindle_slurm": {**ASKED, **changes}, "rekindle_rerun": True})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"partition": "nosuch"}, "invalid partition specified: nosuch"),
        ({"gpus_per_node": 3}, "Requested node configuration is not available"),
    ],
)
def test_what_the_cluster_does_not_have_is_refused_before_anything_is_built(cluster, tmp_path, changes, says):
    done = play("playbooks/preflight.yml", cluster.inventory, tmp_path / "results", *asked(**changes))
    assert done.status != 0
    assert says in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_a_job_that_takes_longer_than_its_allocation_is_not_queued(site, cluster, tmp_path):
    done = play("site.yml", cluster.inventory, tmp_path / "results", *asked(time="00:01:00"))
    assert done.status != 0
    assert verdict(done).verdict == "SKIPPED"
    assert "pt_ddp takes about" in verdict(done).cause
    assert cluster.run("login", "squeue --noheader") == ""


def test_a_root_that_the_nodes_do_not_share_is_refused(site, cluster, tmp_path):
    done = play(
        "playbooks/preflight.yml", cluster.inventory, tmp_path / "results", "-e", "rekindle_root=~/rekindle"
    )
    assert done.status != 0
    assert "is not the same folder on the nodes of gpu" in " ".join(done.output.split())
