# SPDX-License-Identifier: Apache-2.0
"""What is between the nodes of a SLURM allocation: measured as hosts are, by players that SLURM starts."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fabrics import broken, shaped
from lab import network
from lab.slurm import SlurmLab
from runners.plays import play
from slurm_runs import asked

from rekindle.records import FabricRecord, VerdictRecord, read_record

NODES = ("n9", "n10", "n11", "n12")


@pytest.fixture(scope="module")
def cluster(named):
    """Return a cluster of four nodes, whose ways to each other have a rate."""
    with shaped(SlurmLab(named("slurm-fabric")), ("login", *NODES)) as lab:
        yield lab


@pytest.fixture
def survey(cluster, tmp_path):
    def run():
        done = play("fabric.yml", cluster.inventory, tmp_path / "r", *asked(nodes=4))
        judged = read_record(done.results / "login/fabric/verdict.json", VerdictRecord)
        assert cluster.run("login", "squeue --noheader") == ""
        return done, judged

    return run


def test_nodes_as_they_should_be_pass_and_have_a_matrix(survey):
    done, judged = survey()
    assert (judged.verdict, judged.cause, done.status) == ("PASS", None, 0), done.output
    record = read_record(done.results / "login/fabric.json", FabricRecord)
    assert ({*record.hosts}, record.host) == ({*NODES}, "login")
    assert len({look.hosts for look in record.looks}) == 7  # six pairs, and all together
    assert "node × node of login" in (done.results / "report.html").read_text()


def test_a_node_whose_ways_are_slow_is_named(cluster, survey):
    network.shape_ways(cluster.number, 5, slow=[(2, 4), (3, 4), (4, 5)], lossy=())
    try:
        done, judged = survey()
    finally:
        network.shape_ways(cluster.number, 5, slow=(), lossy=())
    assert (judged.verdict, judged.action, done.status) == ("FAIL", "RETEST", 2), done.output
    assert judged.cause.startswith("n11 has "), done.output


def test_a_node_that_hangs_is_named_and_nothing_waits_for_it(cluster, survey):
    with broken(cluster, n10="time.sleep(3600)"):
        done, judged = survey()
    assert (judged.verdict, judged.action) == ("FAIL", "DRAIN"), done.output
    assert judged.cause.startswith("n10 gives no result with "), done.output
    for node in NODES:
        assert "rekindle.fabric" not in cluster.run(node, "ps -e -o args=")


def test_a_node_that_slurm_loses_is_named(cluster, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, "fabric.yml", cluster.inventory, tmp_path / "r", *asked(nodes=4))
        runs = "squeue --noheader --states=running --name=rekindle-fabric"
        while not playing.done() and not cluster.run("login", runs):
            time.sleep(0.2)
        cluster.run("n11", "pkill -STOP -x slurmd", "root")
        try:
            done = playing.result()
        finally:
            cluster.run("n11", "pkill -CONT -x slurmd", "root")
    (row,) = json.loads((done.results / "results.json").read_text())["rows"]
    assert (done.status, row["host"], row["verdict"]) == (2, "login", "SKIPPED"), done.output
    assert re.search(r"SLURM ended job \d+: NODE_FAIL, as n11 is down", row["cause"])
