# SPDX-License-Identifier: Apache-2.0
"""site.yml on the login node of a SLURM cluster: what it runs on two nodes and on one, and what it leaves."""

import json
import shlex
from collections import Counter
from pathlib import Path

import pytest
from plays import play
from slurm_runs import ASKED, PT_DDP, asked, built, verdict

from rekindle.capsule.specs import environment_specs
from rekindle.host import folders
from rekindle.records import EnvRecord, HostRecord, PayloadRecord, PlanRecord, RunSpec, read
from rekindle.records.events import DeviceEvent, RoundEvent
from rekindle.records.evidence import read_lines


def _events(run, kind):
    return [line.event for line in read_lines(run) if isinstance(line.event, kind)]


def _message(record, claim):
    return next(result.message for result in record.evidence if result.claim == claim)


@pytest.mark.parametrize(("job", "ranks"), [("pt_ddp", 4), ("lightning_ddp", 2), ("llm_sft", 2)])
def test_each_job_passes_with_ranks_on_both_nodes(on_slurm, job, ranks):
    judged = verdict(on_slurm, job)
    assert (judged.verdict, judged.cause) == ("PASS", None), on_slurm.output
    run = on_slurm.results / "login" / job
    spec = read(run / "spec.json", RunSpec)
    assert set(spec.nodes) == {"n9", "n10"}
    nodes = {(event.site, event.rank): event.node for event in _events(run, DeviceEvent)}
    of_all = [(site, rank) for site in spec.sites for rank in range(ranks)]
    assert nodes == {(site.name, rank): spec.node_of(site, rank) for site, rank in of_all}
    assert Counter(nodes.values()) == {"n9": len(of_all) / 2, "n10": len(of_all) / 2}
    assert _message(judged, "ranks_crossed_the_network") == "Ranks crossed the network by gloo, over TCP."
    assert all(0 < event.forward_s < event.seconds for event in _events(run, RoundEvent))
    assert 0 <= judged.waited_s < 60
    assert (run / "batch.sh").read_text().startswith(f"#!/bin/sh\n#SBATCH --job-name=rekindle-{job}-")


def test_all_is_proven(on_slurm):
    assert on_slurm.status == 0


def test_the_login_node_has_a_record_of_its_cluster(on_slurm):
    (group,) = read(on_slurm.results / "login/login.json", HostRecord).cluster.groups
    judged = (group.partition, group.nodes, group.count, group.cpus, group.gres, group.time_limit)
    assert judged == ("gpu", "n[9-10]", 2, 8, "gpu:2", "1-00:00:00")


def test_nothing_of_it_is_left_on_any_node(on_slurm, cluster):
    assert cluster.run("login", "squeue --noheader") == ""
    for node in ("login", "n9", "n10"):
        assert "rekindle/envs" not in cluster.run(node, "ps -e -o args=")


KEEP = "import json, sys; disks.keep(Path(sys.argv[1]), *json.load(open('/shared/of-nodes.json')))"
CLEAR = "import sys; print(disks.clear(Path(sys.argv[1])))"


def test_environments_on_nodes_own_disks_are_had_by_each_and_cleared(on_slurm, cluster):
    """By the lock of the driver's, which is small; nodes have roots of their own."""
    home, root = on_slurm.results / "login", Path("/shared/rekindle")
    env, payload = read(home / "env.json", EnvRecord), read(home / "payload.json", PayloadRecord)
    plan, host = read(home / "plan.json", PlanRecord), read(home / "host.json", HostRecord)
    spec = environment_specs(plan, host, offline=True)[0]
    local = folders.on_disk("/var/tmp", root)
    (cluster.shared / "of-nodes.json").write_text(
        json.dumps([ASKED, [{**spec, "name": "toy", "local": str(local)}]])
    )
    driver = next(environment.python for environment in env.environments if environment.framework == "driver")
    python = f"env PYTHONPATH={payload.path} {driver}"

    def on_login(code):
        words = f"from pathlib import Path; from rekindle.host import disks; {code}"
        return cluster.run("login", f"{python} -c {shlex.quote(words)} {root}").strip()

    def had():
        have = f"{python} -m rekindle.environments have {root} toy-{spec['lock_sha256'][:12]}"
        lines = cluster.run("login", f"srun --nodes=2 --ntasks=2 {have}").splitlines()
        return {answer["node"]: answer["message"] for answer in map(json.loads, lines)}

    on_login(KEEP)
    assert had() == {"n9": None, "n10": None}
    for node in ("n9", "n10"):
        assert cluster.run(node, f"ls {local}/envs").startswith("toy-")
    cluster.run("n10", f"rm -r {local}; chmod 755 /var/tmp", "root")
    judged = had()
    cluster.run("n10", "chmod 1777 /var/tmp", "root")
    assert judged["n9"] is None
    assert judged["n10"].startswith(f"{local} cannot be made: Permission denied. Fix: ")
    assert on_login(CLEAR) == "[]"
    for node in ("n9", "n10"):
        assert cluster.run(node, "ls /var/tmp") == ""


def test_one_node_is_one_machine(on_slurm, cluster, small, tmp_path):
    results = built(on_slurm, tmp_path / "one")
    preflight = play("playbooks/preflight.yml", cluster.inventory, results, *asked(nodes=1))
    assert preflight.status == 0, preflight.output
    done = play("playbooks/validate.yml", cluster.inventory, results, *PT_DDP, *asked(nodes=1), cwd=small)
    assert (verdict(done).verdict, verdict(done).cause) == ("PASS", None), done.output
    run = done.results / "login/pt_ddp"
    assert read(run / "spec.json", RunSpec).nodes == ()
    (device,) = _events(run, DeviceEvent)
    assert device.rank == 0
