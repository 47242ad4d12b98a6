"""federate.yml over SSH: a server and three sites, each a host of its own, and what can happen to them."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab.labs import Lab
from lab.wheels import fill_wheelhouse
from plays import HANGS_S, checkout, play

from rekindle.records import KitRecord, VerdictRecord, read

SERVER, *SITES = HOSTS = ("server", "one", "two", "three")
SSH_FAILED = 255
LISTENS = "grep -i ': [0-9a-f]*:1F42 [0-9a-f:]* 0A ' /proc/net/tcp /proc/net/tcp6"
"""Who listens at port 8002, the federation's."""
LONG = ("-e", '{"rekindle_job_arguments": {"pt_ddp": {"local_epoch": 10}}}')
"""Rounds of some ten seconds, as one of more than eight epochs sleeps for a second in each."""
EPOCH = "            sampler.set_epoch("
AGAIN = ("-e", "rerun=true")
MIN_SITES = ("-e", "rekindle_federation_min_sites=2")

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


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a checkout whose pt_ddp has one rank a site, and rounds that may be LONG."""
    folder = checkout(tmp_path_factory.mktemp("federation"), pt_ddp={"ranks_per_site": 1})
    client = folder / "flare_jobs/pt_ddp/client.py"
    slow = f"            time.sleep(args.local_epoch > 8)\n{EPOCH}"
    client.write_text(client.read_text().replace(EPOCH, slow))
    return folder


@pytest.fixture(scope="module")
def lab(named):
    """Return a lab of these hosts, for which every wheel is here; sites know the server by a name."""
    lab = Lab(named("fed"), light=True)
    try:
        lab.up(HOSTS)
        fill_wheelhouse(lab)
        address = lab.hosts[SERVER].address
        for host in HOSTS:
            root(lab, host, f"echo '{address} flare.lab' >>/etc/hosts")
        known = f"rekindle_federation_address: {address}"
        lab.inventory.write_text(
            lab.inventory.read_text().replace(known, known.replace(address, "flare.lab"))
        )
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="module")
def proven(lab, shop, tmp_path_factory):
    """Return the first run of federate.yml, from bare hosts."""
    results = tmp_path_factory.mktemp("results") / "federation"
    return play("playbooks/federate.yml", lab.inventory, results, cwd=shop)


def verdict_in(results):
    return read(Path(results) / "federations/pt_ddp/verdict.json", VerdictRecord)


def root(lab, host, command):
    """Return what a command of root's prints on a host, whatever its status; ssh itself has to work."""
    done = subprocess.run(lab.ssh(host, command, user="root"), capture_output=True, text=True, check=False)
    assert done.returncode != SSH_FAILED, done.stderr
    return done.stdout.strip()


def kill(lab, host, module):
    """Kill the process on a host that runs this module of Python's."""
    (pid, *_) = root(lab, host, f"pgrep -f -- '-m {module}'").split()
    root(lab, host, f"kill -KILL {pid}")


class Going:
    """federate.yml, in the midst of whose job something happens."""

    def __init__(self, lab, shop, folder):
        self.lab, self._shop = lab, shop
        self.results, self._log = folder / "results", folder / "log"

    def start(self, *more, seen="two pt_ddp: round 1/3"):
        """Run the command, until its output has ``seen``."""
        command = ["ansible-playbook", "playbooks/federate.yml", "-i", self.lab.inventory, *LONG, *more]
        with self._log.open("w") as log:
            self._play = subprocess.Popen(
                [*command, "-e", f"rekindle_results={self.results}"],
                cwd=self._shop,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        ends = time.monotonic() + HANGS_S
        while seen not in self.output:
            assert self._play.poll() is None, self.output
            assert time.monotonic() < ends, self.output
            time.sleep(0.1)
        self.since = time.monotonic()
        return self

    def kill(self):
        """Kill the command and all that it started here."""
        os.killpg(self._play.pid, signal.SIGKILL)
        self._play.wait()

    @property
    def output(self):
        return self._log.read_text()

    def ended(self, status=2):
        """Return the verdict, and how many seconds after the first round the play ended."""
        assert self._play.wait(HANGS_S) == status, self.output
        assert "Traceback" not in self.output
        return verdict_in(self.results), time.monotonic() - self.since


@pytest.fixture
def going(proven, lab, shop, tmp_path):
    return Going(lab, shop, tmp_path).start(*AGAIN)


def test_bare_hosts_become_a_proven_federation(proven):
    assert proven.status == 0, proven.output
    assert re.search(r"^federations\s+pt_ddp\s+PASS", proven.output, re.M), proven.output
    verdict = verdict_in(proven.results)
    seen = {result.claim: result.message for result in verdict.evidence}
    assert seen["only_sites_connected"] == "3 sites connected by TLS, each with its own certificate."
    assert re.search(r"one \d+\.\d received", seen["rounds_over_the_network"])
    assert {device.site for device in verdict.devices} == {*SITES}


def test_each_host_has_its_own_key_and_nobody_else_reads_it(proven, lab):
    for host in HOSTS:
        kit = read(proven.results / host / "kit.json", KitRecord)
        modes = root(lab, host, f"stat -c '%a %U' {kit.path} {kit.path}/startup/*.key").splitlines()
        assert modes == ["700 lease", "600 lease"], (host, modes)
        keys = root(lab, host, "find / -xdev -name '*.key' -path '*federation*'").splitlines()
        assert all("/federation/rekindle/" in key for key in keys)
        assert len(keys) == (2 if host == SERVER else 1)
    assert not [path for path in proven.results.rglob("*") if path.suffix == ".key"]


def test_nothing_runs_or_listens_after_it(proven, lab):
    for host in HOSTS:
        assert root(lab, host, "pgrep -f nvflare") == ""
        assert root(lab, host, LISTENS) == ""


def test_the_same_command_keeps_certificates_and_the_proof(proven, lab, shop):
    before = {host: (proven.results / host / "kit.json").read_text() for host in HOSTS}
    again = play("playbooks/federate.yml", lab.inventory, proven.results, cwd=shop)
    assert again.status == 0, again.output
    assert re.search(r"federations\s+pt_ddp\s+PASS\s+kept, of ", again.output), again.output
    assert before == {host: (proven.results / host / "kit.json").read_text() for host in HOSTS}


def test_it_stays_up_for_jobs_of_others_until_it_is_stopped(proven, lab, shop):
    keep = ("-e", "rekindle_federation_keep=true")
    up = play("playbooks/federate.yml", lab.inventory, proven.results, *keep, cwd=shop)
    assert up.status == 0, up.output

    def asked(what):
        command = ["rekindle", "federation", what, "-i", lab.inventory, "--json"]
        done = subprocess.run(command, cwd=shop, capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout)

    ends, status = time.monotonic() + 60, 1
    while status and time.monotonic() < ends:
        status, federation = asked("status")
    assert status == 0, federation
    assert {*federation["hosts"][0]["heard"]} == {*SITES}
    for name, text in (("train.py", OWN_TRAINER), ("job.py", OWN_JOB)):
        subprocess.run(lab.ssh(SERVER, f"mkdir -p own; cat >own/{name}"), input=text, text=True, check=True)
    command = f"cd own && ~/rekindle/envs/torch-*/bin/python job.py {federation['hosts'][0]['admin']}"
    own = subprocess.run(
        lab.ssh(SERVER, command), capture_output=True, text=True, check=False, timeout=HANGS_S
    )
    assert own.stdout.splitlines()[-1] == "FINISHED:COMPLETED", own.stdout + own.stderr
    refused = play("playbooks/federate.yml", lab.inventory, proven.results, cwd=shop)
    assert refused.status != 0
    assert "is up on server, for jobs of its users. Fix: end it: rekindle federation stop" in refused.output
    status, federation = asked("stop")
    assert status == 0, federation
    for host in HOSTS:
        assert root(lab, host, "pgrep -f nvflare") == ""
        assert root(lab, host, LISTENS) == ""
    test_each_host_has_its_own_key_and_nobody_else_reads_it(proven, lab)


@pytest.mark.parametrize(
    ("host", "module", "cause"),
    [
        ("two", "client.client_train", "NVFlare's client of two was killed by signal 9."),
        ("server", "server.server_train", "NVFlare's server was killed by signal 9"),
    ],
)
def test_a_parent_that_is_killed_is_named(going, host, module, cause):
    assert root(going.lab, SERVER, LISTENS)
    kill(going.lab, host, f"nvflare.private.fed.app.{module}")
    verdict, seconds = going.ended()
    assert (verdict.verdict, cause in verdict.cause) == ("FAIL", True), verdict.cause
    assert seconds < 120, going.output
    for name in HOSTS:
        assert root(going.lab, name, "pgrep -f nvflare") == ""


def test_a_result_that_is_not_finite_does_not_get_in_and_is_named(proven, lab, tmp_path):
    """NVFlare alone aggregates it, and the others then fail for it."""
    (tmp_path / "shop").mkdir()
    hostile = checkout(tmp_path / "shop", pt_ddp={"ranks_per_site": 1})
    client = hostile / "flare_jobs/pt_ddp/client.py"
    sends = '    meta = {"NUM_STEPS_CURRENT_ROUND": steps}\n'
    nan = "    if flare.get_site_name() == 'two':\n        weights['layers.0.weight'] *= torch.nan\n"
    client.write_text(client.read_text().replace(sends, sends + nan))
    play("playbooks/federate.yml", lab.inventory, tmp_path / "results", cwd=hostile)
    verdict = verdict_in(tmp_path / "results")
    cause = "The result of two was refused: layers.0.weight has numbers that are not finite."
    assert (verdict.verdict, verdict.cause) == ("FAIL", cause)


def test_a_link_that_is_down_for_a_minute_is_named(going):
    going.lab.hosts["two"].set_link(up=False)
    try:
        time.sleep(60)
    finally:
        going.lab.hosts["two"].set_link(up=True)
    verdict, seconds = going.ended()
    cause = "NVFlare's server heard no more from two: its link, its host or its client was down."
    assert (verdict.verdict, verdict.cause, verdict.layer) == ("FAIL", cause, "network")
    assert seconds < 120, going.output


def test_a_controller_that_is_killed_is_followed_by_the_same_command(going):
    going.kill()
    assert going.start(seen="two pt_ddp: ").ended(status=0)[0].verdict == "PASS"


def test_a_job_goes_on_without_a_host_that_lost_its_power(proven, lab, shop, tmp_path):
    going = Going(lab, shop, tmp_path).start(*AGAIN, *MIN_SITES)
    lab.hosts["two"].cut_power()
    try:
        verdict, _ = going.ended(status=4)
    finally:
        lab.hosts["two"].start()
        lab.await_ssh("two")
    assert (verdict.verdict, verdict.lost) == ("PASS", {"two": 1})
    assert "It went on without sites that left: two in round 2." in going.output
    assert re.search(r"two +– +LOST", going.output), going.output


def test_a_site_with_a_foreign_kit_is_refused_before_anything_starts(proven, lab, shop, tmp_path):
    kit = read(proven.results / "two" / "kit.json", KitRecord).path
    other = f"{kit}/startup/rootCA.pem"
    root(lab, "two", f"cp -p {other} /tmp/ca.pem; openssl req -x509 -newkey rsa:2048 -nodes -days 1 "
         f"-subj /CN=other -keyout /dev/null -out {other} 2>/dev/null")  # fmt: skip
    try:
        done = play("playbooks/federate.yml", lab.inventory, tmp_path / "r", "-e", "rerun=true", cwd=shop)
    finally:
        root(lab, "two", f"cp -p /tmp/ca.pem {other}")
    rows = {row["host"]: row for row in json.loads((tmp_path / "r/results.json").read_text())["rows"]}
    assert done.status != 0
    assert "its certificate is not its authority's" in rows["two"]["cause"], rows["two"]
    assert rows["federations"]["verdict"] == "SKIPPED", rows["federations"]


def test_retire_leaves_nothing_of_it(proven, lab, shop):
    done = play("playbooks/retire.yml", lab.inventory, proven.results, cwd=shop)
    assert done.status == 0, done.output
    for host in HOSTS:
        assert root(lab, host, "ls -A /home/lease/rekindle 2>/dev/null") == ""
