# SPDX-License-Identifier: Apache-2.0
"""What goes wrong on a SLURM cluster: the verdict and its cause, or the refusal."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from runners.plays import SMALLEST, checkout, play
from runners.waits import until
from slurm_runs import ASKED, PT_DDP, asked, built, in_mid_run, verdict

from rekindle.doctor import diagnose_texts, read_logs
from rekindle.judge import judge_run
from rekindle.records import EnvRecord, HostRecord, PayloadRecord, RunEnd, RunSpec, read_record

VALIDATE = "playbooks/validate.yml"


REFUSED = {
    "partition": ({"partition": "nosuch"}, "partition has no partition nosuch; it has gpu. Fix: "),
    "nodes": ({"nodes": 3}, "gpu of nodes has 2 nodes, and rekindle_slurm asks for 3. Fix: "),
    "time": ({"time": "1-00:00:01"}, "gpu of time gives no more time than 1-00:00:00, and"),
    "gpus": ({"gpus_per_node": 3}, "Requested node configuration is not available"),
    "root": ({}, "is not the same folder on the nodes of gpu"),
}
"""What is asked of the cluster that it does not give, and why that is refused before anything is built."""


@pytest.fixture(scope="module")
def on_slurm(cluster, small, tmp_path_factory):
    """Return a run of site.yml there, with one small job."""
    results = tmp_path_factory.mktemp("results") / "slurm"
    return play("site.yml", cluster.inventory, results, *PT_DDP, cwd=small)


@pytest.fixture(scope="module")
def causes(cluster, tmp_path_factory):
    """Return why hosts, each of which is the login node with one of REFUSED, left preflight."""
    inventory, folder = yaml.safe_load(cluster.inventory.read_text()), tmp_path_factory.mktemp("refused")
    ((login, settings),) = inventory["all"]["hosts"].items()
    hosts = {
        name: {**settings, "ansible_host": login, "rekindle_slurm": {**ASKED, **changes}}
        for name, (changes, _) in REFUSED.items()
    }
    hosts["root"]["rekindle_root"] = "~/rekindle"
    inventory["all"]["hosts"] = hosts
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    done = play("playbooks/preflight.yml", folder / "hosts.yml", folder / "results")
    assert done.status != 0
    assert "Traceback" not in done.output
    rows = json.loads((folder / "results/results.json").read_text())["rows"]
    return {row["host"]: " ".join(row["cause"].split()) for row in rows}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_cluster_does_not_give_is_refused_before_anything_is_built(causes, what):
    assert REFUSED[what][1] in causes[what]


def test_kinds_of_nodes_and_why_some_are_drained_are_reported(cluster, tmp_path):
    update = "scontrol update nodename=n10"
    cluster.run("login", f"{update} availablefeatures=amd activefeatures=amd", "root")
    done = play("playbooks/preflight.yml", cluster.inventory, tmp_path / "kinds")
    assert "gpu of login has 2 kinds of nodes" in " ".join(done.output.split())
    assert read_record(done.results / "login/node-n10.json", HostRecord).allocation.nodes == 2
    cluster.run("login", f"{update} availablefeatures= activefeatures= state=drain reason=disk", "root")
    done = play("playbooks/preflight.yml", cluster.inventory, tmp_path / "drained")
    cluster.run("login", f"{update} state=resume", "root")
    message = "1 nodes of gpu take jobs now, and rekindle_slurm asks for 2: n10 is drained (disk)."
    assert message in " ".join(done.output.split())
    assert done.status == 0


def test_a_job_that_takes_longer_than_its_allocation_is_not_queued(on_slurm, cluster, tmp_path):
    results, short = built(on_slurm, tmp_path / "results"), asked(time="00:01:00")
    play("playbooks/preflight.yml", cluster.inventory, results, *short)
    message = "pt_ddp takes about 60 s, and rekindle_slurm asks for 00:01:00."
    checked = play(VALIDATE, cluster.inventory, results, *PT_DDP, *short, "--check")
    assert checked.status != 0
    assert message in " ".join(checked.output.split())
    done = play(VALIDATE, cluster.inventory, results, *PT_DDP, *short)
    assert done.status != 0
    assert (verdict(done).verdict, verdict(done).cause) == ("SKIPPED", message)
    assert cluster.run("login", "squeue --noheader") == ""


STEPS = """#!/bin/sh
srun --nodes=2 --ntasks=2 sleep 600 &
until squeue --noheader --steps --jobs=$SLURM_JOB_ID | grep -q sleep; do sleep 0.1; done
srun --immediate=2 --nodes=2 --ntasks=2 hostname
srun --overlap --nodes=2 --ntasks=2 sh -c 'echo on $(hostname)'
scancel --signal=KILL $SLURM_JOB_ID.0
"""


def test_a_step_that_cannot_overlap_is_diagnosed_and_ours_can(cluster):
    (cluster.shared / "steps").write_text(STEPS)
    submit = "sbatch --wait --nodes=2 --ntasks-per-node=1 --output=steps.log steps"
    cluster.run("login", f"cd /shared && {submit}; cat steps.log")
    log = cluster.shared / "steps.log"
    assert {"on n9", "on n10"} <= set(log.read_text().splitlines())
    assert diagnose_texts(read_logs([log])).cause.name == "slurm_step_waits"


def test_two_jobs_on_the_same_nodes_at_once_pass(on_slurm, cluster):
    """Each under a root of its own, as two people's are, with one site; their ports are different."""
    host, runs = on_slurm.results / "login", [cluster.shared / f"{name}/runs/pt_ddp-x" for name in "ab"]
    spec = json.loads((host / "pt_ddp/spec.json").read_text())
    spec["nodes"], spec["allocation"]["gpus_per_node"] = [], 0
    spec["sites"], spec["job"]["sites"] = spec["sites"][:1], 1
    (cluster.shared / "spec.json").write_text(json.dumps(spec))
    drivers = [
        environment
        for environment in read_record(host / "env.json", EnvRecord).environments
        if environment.framework == "driver"
    ]
    payload = read_record(host / "payload.json", PayloadRecord).path
    start = f"PYTHONPATH={payload} {drivers[0].python} -m rekindle.driver start"
    for name in "ab":
        run = f"/shared/{name}/runs/pt_ddp-x"
        cluster.run("login", f"mkdir -p /shared/{name}; {start} {run} </shared/spec.json")
    until(lambda: cluster.run("login", "squeue --noheader --format=%T").split() == ["RUNNING"] * 2)
    until(lambda: cluster.run("login", "squeue --noheader") == "", 300)
    for run in runs:
        answer = judge_run(run)
        assert (answer.verdict, answer.cause) == ("PASS", None)
        assert set(read_record(run / "spec.json", RunSpec).nodes) == {"n9", "n10"}


def test_a_run_that_is_suspended_reports_it_and_passes(on_slurm, cluster, tmp_path):
    brief = {**SMALLEST, "limit_s": "600\nsilence_s: 30"}
    repository = checkout(tmp_path, pt_ddp=brief)

    def suspend():
        job = cluster.run("login", "squeue --noheader --format=%i").split()[0]
        cluster.run("login", f"scontrol suspend {job}", "root")
        time.sleep(45)  # for longer than silence_s
        cluster.run("login", f"scontrol resume {job}", "root")

    results = built(on_slurm, tmp_path / "stood")
    done = in_mid_run(cluster, VALIDATE, results, suspend, *PT_DDP, cwd=repository)
    assert re.search(r"login pt_ddp: job \d+ is suspended by SLURM", done.output)
    assert (verdict(done).verdict, verdict(done).cause) == ("PASS", None)
    (span,) = read_record(done.results / "login/pt_ddp/ended.json", RunEnd).suspensions
    assert 40 < span.until - span.since < 75


SLOW = """    pace = Pace(model)
    if __import__("os").environ["SLURMD_NODENAME"] == "n10":
        model.register_forward_pre_hook(lambda *_: time.sleep(0.02))
"""


def test_a_node_that_straggles_is_named_and_the_run_passes(on_slurm, cluster, tmp_path):
    repository = checkout(tmp_path, pt_ddp=SMALLEST)
    client = repository / "flare_jobs/pt_ddp/client.py"
    client.write_text(client.read_text().replace("    pace = Pace(model)\n", SLOW))
    done = play(VALIDATE, cluster.inventory, built(on_slurm, tmp_path / "slow"), *PT_DDP, cwd=repository)
    assert verdict(done).verdict == "PASS", done.output
    (pace,) = [result for result in verdict(done).evidence if result.claim == "nodes_keep_pace"]
    assert pace.message.startswith("n10 straggles: its ranks took ")


def _on_n10(cluster, signal):
    """Return what sends a signal to the oldest rank on the second node."""
    return lambda: cluster.run("n10", f"pkill -{signal} -o -f -- '-u custom/client.py'", "root")


def test_a_rank_that_is_killed_on_the_second_node_is_named_with_it(on_slurm, small, cluster, tmp_path):
    results = built(on_slurm, tmp_path / "killed")
    done = in_mid_run(cluster, VALIDATE, results, _on_n10(cluster, "KILL"), *PT_DDP, cwd=small)
    judged = verdict(done)
    assert judged.verdict == "FAIL", done.output
    assert judged.cause.startswith("Rank ")
    assert ", on n10, was killed from outside (PID " in judged.cause


def test_a_process_that_is_stopped_on_the_second_node_is_named_with_it(on_slurm, small, cluster, tmp_path):
    results = built(on_slurm, tmp_path / "stopped")
    done = in_mid_run(cluster, VALIDATE, results, _on_n10(cluster, "STOP"), *PT_DDP, cwd=small)
    assert verdict(done).verdict == "HUNG"
    assert verdict(done).cause.startswith("On n10: Process ")
    assert (done.results / "login/pt_ddp/autopsy/stacks-n10.txt").stat().st_size


def test_a_node_without_the_shared_folder_is_named(on_slurm, small, cluster, tmp_path):
    cluster.lose_shared("n10")
    done = play(VALIDATE, cluster.inventory, built(on_slurm, tmp_path / "lost"), *PT_DDP, cwd=small)
    cluster.hosts["n10"].cut_power()
    cluster.up([])
    assert verdict(done).verdict == "FAIL"
    assert verdict(done).cause.startswith(
        "The node n10 does not have the folder /shared/rekindle/runs/pt_ddp-"
    )


def _is_gone(cluster, what):
    for node in ("login", "n9", "n10"):
        until(lambda node=node: what not in cluster.run(node, "ps -e -o args="))
    assert cluster.run("login", "squeue --noheader") == ""


def test_scancel_is_the_cause_and_leaves_nothing_on_any_node(on_slurm, small, cluster, tmp_path):
    def cancel():
        cluster.run("login", "scancel --user=lease")

    done = in_mid_run(cluster, VALIDATE, built(on_slurm, tmp_path / "cancelled"), cancel, *PT_DDP, cwd=small)
    assert verdict(done).verdict == "FAIL"
    assert verdict(done).cause.startswith("Somebody cancelled the job in SLURM (scancel)")
    _is_gone(cluster, "rekindle/envs")


OF_RUNS = """
cd /proc
for pid in [0-9]*; do
    if grep -qs '[/]shared/rekindle/runs/' $pid/cmdline $pid/environ; then
        echo $pid: $(tr '\\0' ' ' <$pid/cmdline)
    fi
done
"""
"""Which processes of a node have a run's folder in their command line or environment."""


def test_a_driver_that_is_killed_is_named_and_its_ranks_end_on_every_node(on_slurm, small, cluster, tmp_path):
    def kill():
        cluster.run("n9", "pkill -KILL -f 'rekindle[.]driver supervise'", "root")

    done = in_mid_run(cluster, VALIDATE, built(on_slurm, tmp_path / "driverless"), kill, *PT_DDP, cwd=small)
    assert done.status != 0
    assert (verdict(done).verdict, verdict(done).cause.partition(":")[0]) == (
        "UNPROVEN",
        "The run has no record of its end",
    )
    _is_gone(cluster, "custom/client.py")
    for node in ("n9", "n10"):
        until(lambda node=node: cluster.run(node, OF_RUNS, "root") == "", 30)


def test_a_node_that_is_lost_is_named(on_slurm, small, cluster, tmp_path):
    cut = cluster.hosts["n10"].cut_power
    done = in_mid_run(cluster, VALIDATE, built(on_slurm, tmp_path / "cut"), cut, *PT_DDP, cwd=small)
    ended = time.time()
    (known,) = re.findall(r"Reason=.*@(\S+)]", cluster.run("login", "scontrol show node n10"))
    assert ended - int(cluster.run("login", f"date --date={known} +%s")) < 60
    cluster.up([])
    assert done.status != 0
    assert verdict(done).verdict in {"FAIL", "UNPROVEN"}
    assert "n10" in verdict(done).cause


PROLOG = "#!/bin/sh\nuntil [ -e /shared/skewed ]; do sleep 0.1; done\n"


def test_a_node_whose_clock_is_wrong_is_named(on_slurm, small, cluster, tmp_path):
    """The last to use this cluster: SLURM tries only a minute later again to end the job there.

    SLURM gives no job to a node whose answers it cannot trust. So the clock is wrong only once the job has
    the node, and the prolog keeps the job from its first step until then.
    """
    (cluster.shared / "prolog").write_text(PROLOG)
    (cluster.shared / "prolog").chmod(0o755)
    cluster.configure(SlurmdTimeout="0", Prolog="/shared/prolog")
    results = built(on_slurm, tmp_path / "skewed")
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, VALIDATE, cluster.inventory, results, *PT_DDP, cwd=small)
        started = "squeue --noheader --states=CONFIGURING,RUNNING"
        until(lambda: cluster.run("login", started) or playing.done(), 300)
        cluster.skew_clock("n10", 1200)
        (cluster.shared / "skewed").touch()
        done = playing.result()
    # On a busy machine the driver ends a job without its site before NVFlare does, or SLURM itself sees first
    # that the node does not answer, and keeps the step from it.
    assert verdict(done).verdict in {"FAIL", "HUNG"}
    assert verdict(done).cause in {
        "The node n10 did not take a step of SLURM's: Zero Bytes were transmitted or received.",
        "SLURM starts no step: a node does not answer it, "
        "or another step of the allocation holds the resources.",
    }
    assert "the clocks of the nodes differ" in verdict(done).remedy
