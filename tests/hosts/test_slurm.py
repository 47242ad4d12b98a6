# SPDX-License-Identifier: Apache-2.0
"""site.yml on the login node of a SLURM cluster: what it runs on two nodes and on one, and what it leaves."""

import json
from collections import Counter

import pytest
from lab.wheels import fill_wheelhouse
from runners.plays import SMALLEST, checkout, play
from slurm_runs import PT_DDP, asked, built, in_mid_run, verdict

from rekindle.records import HostRecord, RunSpec, read_record
from rekindle.records.events import DeviceEvent, RoundEvent
from rekindle.records.evidence import read_lines

JOBS = ("-e", json.dumps({"rekindle_jobs": ["pt_ddp", "lightning_ddp", "llm_sft"]}))


@pytest.fixture(scope="module")
def on_slurm(cluster, tmp_path_factory):
    """Return a run of site.yml there, during whose first job SLURM's controller restarted.

    That job has two sites of two ranks a node. The others are small, as they take two cores long enough.
    """
    fill_wheelhouse(cluster, *JOBS)
    repository = checkout(tmp_path_factory.mktemp("checkout"), lightning_ddp=SMALLEST, llm_sft=SMALLEST)
    results = tmp_path_factory.mktemp("results") / "slurm"
    return in_mid_run(cluster, "site.yml", results, cluster.restart_controller, *JOBS, cwd=repository)


def _events(run, kind):
    return [line.event for line in read_lines(run) if isinstance(line.event, kind)]


def _message(record, claim):
    return next(result.message for result in record.evidence if result.claim == claim)


@pytest.mark.parametrize(("job", "ranks"), [("pt_ddp", 4), ("lightning_ddp", 2), ("llm_sft", 2)])
def test_each_job_passes_with_ranks_on_both_nodes(on_slurm, job, ranks):
    judged = verdict(on_slurm, job)
    assert (judged.verdict, judged.cause) == ("PASS", None), on_slurm.output
    run = on_slurm.results / "login" / job
    spec = read_record(run / "spec.json", RunSpec)
    assert set(spec.nodes) == {"n9", "n10"}
    nodes = {(event.site, event.rank): event.node for event in _events(run, DeviceEvent)}
    of_all = [(site, rank) for site in spec.sites for rank in range(ranks)]
    assert nodes == {(site.name, rank): spec.node_of(site, rank) for site, rank in of_all}
    assert Counter(nodes.values()) == {"n9": len(of_all) / 2, "n10": len(of_all) / 2}
    assert _message(judged, "ranks_crossed_the_network") == "Ranks crossed the network by gloo, over TCP."
    assert all(0 < event.forward_s < event.seconds for event in _events(run, RoundEvent))
    (log,) = run.glob("job/workspace/*/site-1/log.txt")
    assert "SubprocessLauncher - INFO - srun: " in log.read_text()  # what its step prints comes home
    assert 0 <= judged.waited_s < 60
    assert (run / "batch.sh").read_text().startswith(f"#!/bin/sh\n#SBATCH --job-name=rekindle-{job}-")


def test_all_is_proven(on_slurm):
    assert on_slurm.status == 0


def test_the_login_node_has_a_record_of_its_cluster(on_slurm):
    (group,) = read_record(on_slurm.results / "login/login.json", HostRecord).cluster.groups
    judged = (group.partition, group.nodes, group.count, group.cpus, group.gres, group.time_limit)
    assert judged == ("gpu", "n[9-10]", 2, 8, "gpu:2", "1-00:00:00")


def test_nothing_of_it_is_left_on_any_node(on_slurm, cluster):
    assert cluster.run("login", "squeue --noheader") == ""
    for node in ("login", "n9", "n10"):
        assert "rekindle/envs" not in cluster.run(node, "ps -e -o args=")


def test_one_node_is_one_machine(on_slurm, cluster, small, tmp_path):
    results = built(on_slurm, tmp_path / "one")
    preflight = play("playbooks/preflight.yml", cluster.inventory, results, *asked(nodes=1))
    assert preflight.status == 0, preflight.output
    done = play("playbooks/validate.yml", cluster.inventory, results, *PT_DDP, *asked(nodes=1), cwd=small)
    assert (verdict(done).verdict, verdict(done).cause) == ("PASS", None), done.output
    run = done.results / "login/pt_ddp"
    assert read_record(run / "spec.json", RunSpec).nodes == ()
    (device,) = _events(run, DeviceEvent)
    assert device.rank == 0
