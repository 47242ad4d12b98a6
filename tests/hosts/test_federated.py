# SPDX-License-Identifier: Apache-2.0
"""federate.yml over SSH: from bare hosts to a proven federation, and one that stays up."""

import json
import re
import subprocess
import time

from federations import HOSTS, LISTENS, SERVER, SITES, root, verdict_in
from runners.commands import capture_command
from runners.plays import HANGS_S, play

from rekindle.federation.records import KitRecord
from rekindle.records import read_record

OWN_TRAINER = """import sys
import nvflare.client as flare
assert "/envs/torch-" in sys.executable, sys.executable
flare.init()
while flare.is_running():
    model = flare.receive()
    flare.send(flare.FLModel(params={name: value + 1 for name, value in model.params.items()}))
"""
OWN_JOB = """import os, sys
from nvflare.app_common.np.recipes import NumpyFedAvgRecipe
from nvflare.recipe.prod_env import ProdEnv
recipe = NumpyFedAvgRecipe(name="own", model=[[1.0, 2.0]], min_clients=3, num_rounds=1,
                           train_script="train.py", launch_external_process=True)
run = recipe.execute(ProdEnv(startup_kit_location=sys.argv[1], username="admin@rekindle.local"))
run.get_result()
print(run.get_status(), flush=True)
os._exit(0)
"""


def test_bare_hosts_become_a_proven_federation(proven):
    assert proven.status == 0, proven.output
    assert re.search(r"^federations\s+pt_ddp\s+PASS", proven.output, re.M), proven.output
    verdict = verdict_in(proven.results)
    seen = {result.claim: result.message for result in verdict.evidence}
    assert seen["only_sites_connected"] == "3 sites connected by TLS, each with its own certificate."
    assert re.search(r"one \d+\.\d received", seen["rounds_over_the_network"])
    assert {device.site for device in verdict.devices} == {*SITES}


def test_each_host_has_its_own_key_and_nobody_else_reads_it(proven, members):
    for host in HOSTS:
        kit = read_record(proven.results / host / "kit.json", KitRecord)
        modes = root(members, host, f"stat -c '%a %U' {kit.path} {kit.path}/startup/*.key").splitlines()
        assert modes == ["700 lease", "600 lease"], (host, modes)
        keys = root(members, host, "find / -xdev -name '*.key' -path '*federation*'").splitlines()
        assert all("/federation/rekindle/" in key for key in keys)
        assert len(keys) == (2 if host == SERVER else 1)
    assert not [path for path in proven.results.rglob("*") if path.suffix == ".key"]


def test_nothing_runs_or_listens_after_it(proven, members):
    for host in HOSTS:
        assert root(members, host, "pgrep -f nvflare") == ""
        assert root(members, host, LISTENS) == ""


def test_the_same_command_keeps_certificates_and_the_proof(proven, members, shop):
    before = {host: (proven.results / host / "kit.json").read_text() for host in HOSTS}
    again = play("playbooks/federate.yml", members.inventory, proven.results, cwd=shop)
    assert again.status == 0, again.output
    assert re.search(r"federations\s+pt_ddp\s+PASS\s+kept, of ", again.output), again.output
    assert before == {host: (proven.results / host / "kit.json").read_text() for host in HOSTS}


def test_it_stays_up_for_jobs_of_others_until_it_is_stopped(proven, members, shop):
    keep = ("-e", "rekindle_federation_keep=true")
    up = play("playbooks/federate.yml", members.inventory, proven.results, *keep, cwd=shop)
    assert up.status == 0, up.output

    def asked(what):
        command = ["rekindle", "federate", f"--{what}", "-i", members.inventory, "--json"]
        done = capture_command(command, cwd=shop)
        return done.returncode, json.loads(done.stdout)

    ends, status = time.monotonic() + 60, 1
    while status and time.monotonic() < ends:
        status, federation = asked("status")
    assert status == 0, federation
    assert {*federation["hosts"][0]["heard"]} == {*SITES}
    for name, text in (("train.py", OWN_TRAINER), ("job.py", OWN_JOB)):
        subprocess.run(
            members.ssh(SERVER, f"mkdir -p own; cat >own/{name}"), input=text, text=True, check=True
        )
    command = f"cd own && ~/rekindle/envs/torch-*/bin/python job.py {federation['hosts'][0]['admin']}"
    own = capture_command(members.ssh(SERVER, command), timeout=HANGS_S)
    assert own.stdout.splitlines()[-1] == "FINISHED:COMPLETED", own.stdout + own.stderr
    refused = play("playbooks/federate.yml", members.inventory, proven.results, cwd=shop)
    assert refused.status != 0
    assert "is up on server, for jobs of its users. Fix: end it: rekindle federate --stop" in refused.output
    status, federation = asked("stop")
    assert status == 0, federation
    for host in HOSTS:
        assert root(members, host, "pgrep -f nvflare") == ""
        assert root(members, host, LISTENS) == ""
    test_each_host_has_its_own_key_and_nobody_else_reads_it(proven, members)
