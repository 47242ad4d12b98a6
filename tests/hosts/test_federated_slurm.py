# SPDX-License-Identifier: Apache-2.0
"""federate.yml with a login node as a site: from bare hosts to a proof, a job that is cancelled, its end."""

import time

import pytest
import yaml
from federations import AGAIN, LISTENS, Going, root, verdict_in
from runners.plays import play

from rekindle.records import RunEnd, RunSpec, read_record
from rekindle.records.events import DeviceEvent
from rekindle.records.evidence import read_lines

ASKED = {"partition": "gpu", "gpus_per_node": 2, "time": "00:30:00", "extra": ["--nodelist=n9"]}
MACHINES = {"server": "n10", "plain": "login", "slurm": "login"}
"""Where each host of the federation is; that of slurm runs on n9."""


@pytest.fixture(scope="module")
def mixed(cluster, tmp_path_factory):
    """Return the cluster with an inventory of a federation; its hosts on one machine have their own roots."""
    inventory = yaml.safe_load(cluster.inventory.read_text())
    hosts = {name: {"ansible_host": machine} for name, machine in MACHINES.items()}
    hosts["plain"]["rekindle_root"] = "~/plain"
    hosts["slurm"] |= {"rekindle_root": "/shared/federated", "rekindle_slurm": ASKED}
    inventory["all"]["vars"]["rekindle_federation_address"] = cluster.hosts["n10"].address
    groups = {"flare_server": ["server"], "flare_sites": ["plain", "slurm"]}
    children = {name: {"hosts": {host: {} for host in members}} for name, members in groups.items()}
    inventory["all"] |= {"hosts": hosts, "children": children}
    path = tmp_path_factory.mktemp("mixed") / "hosts.yml"
    path.write_text(yaml.safe_dump(inventory))
    known, cluster.inventory = cluster.inventory, path
    yield cluster
    cluster.inventory = known


@pytest.fixture(scope="module")
def mixed_proven(mixed, shop, tmp_path_factory):
    results = tmp_path_factory.mktemp("results") / "mixed"
    return play("playbooks/federate.yml", mixed.inventory, results, cwd=shop)


def nothing_runs(cluster):
    """Assert that no job, process or port of a federation is left."""
    assert cluster.run("login", "squeue --noheader") == ""
    for node in ("login", "n9", "n10"):
        assert root(cluster, node, "pgrep -f nvflare") == ""
    assert root(cluster, "n10", LISTENS) == ""


def test_bare_hosts_and_a_login_node_become_a_proven_federation(mixed_proven, mixed):
    assert mixed_proven.status == 0, mixed_proven.output
    verdict = verdict_in(mixed_proven.results)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    run = mixed_proven.results / "federations/pt_ddp"
    devices = (line.event for line in read_lines(run) if isinstance(line.event, DeviceEvent))
    assert {(event.site, event.node) for event in devices} == {("plain", "plain"), ("slurm", "slurm")}
    assert "NodeList=n9 " in root(mixed, "login", "scontrol show job --oneliner | grep pt_ddp | tail -1")
    assert read_record(run / "slurm/spec.json", RunSpec).allocation.nodes == 1
    assert 0 <= read_record(run / "ended.json", RunEnd).waited_s < 60
    nothing_runs(mixed)


def test_a_job_that_is_cancelled_in_mid_run_is_named(mixed_proven, mixed, shop, tmp_path):
    going = Going(mixed, shop, tmp_path).start(*AGAIN, seen="slurm pt_ddp: round 1/3")
    mixed.run("login", "scancel --user=lease")
    verdict, seconds = going.ended()
    cause = "Somebody cancelled the job in SLURM (scancel): "
    assert (verdict.verdict, verdict.cause.startswith(cause)) == ("FAIL", True), verdict.cause
    assert verdict.findings[0].file == "slurm/slurm.log"  # of the host slurm
    assert seconds < 120, going.output
    nothing_runs(mixed)


def test_a_site_that_slurm_suspends_goes_on_and_passes(mixed_proven, mixed, shop, tmp_path):
    going = Going(mixed, shop, tmp_path).start(*AGAIN, seen="slurm pt_ddp: round 1/3")
    job = root(mixed, "login", "squeue --noheader --format=%i")
    root(mixed, "login", f"scontrol suspend {job}")
    time.sleep(20)
    root(mixed, "login", f"scontrol resume {job}")
    assert going.ended(status=0)[0].verdict == "PASS"
    (span,) = read_record(going.results / "federations/pt_ddp/ended.json", RunEnd).suspensions
    assert (span.host, 15 < span.until - span.since < 25) == ("slurm", True)


def test_retire_leaves_nothing_of_it(mixed_proven, mixed, shop):
    done = play("playbooks/retire.yml", mixed.inventory, mixed_proven.results, cwd=shop)
    assert done.status == 0, done.output
    for host, folder in (("n10", "~/rekindle"), ("login", "~/plain"), ("login", "/shared/federated")):
        assert mixed.run(host, f"if [ -e {folder} ]; then ls -A {folder}; fi") == ""
