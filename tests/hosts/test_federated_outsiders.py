# SPDX-License-Identifier: Apache-2.0
"""Who does not get into a federation: a stranger in mid-run, a user without the right, a site as a user."""

import subprocess

import pytest
import yaml
from federations import HOSTS, SERVER, root
from lab.labs import WHEELHOUSE
from runners.commands import capture_command
from runners.plays import play

from rekindle.federation.authority import ADMIN, Authority, identify_lease
from rekindle.federation.records import KitRecord
from rekindle.records import read_record
from rekindle.results import state

FOLDER = "/home/lease/rekindle/federation/rekindle"
MEMBER = "member@rekindle.local"
PYTHON = "~/rekindle/envs/torch-*/bin/python"
JOINS = f"""timeout 60 {PYTHON} -u -m nvflare.private.fed.app.client.client_train -m ~/stranger \
-s fed_client.json --set secure_train=true uid=four org=rekindle config_folder=config 2>&1"""
SUBMITS = """import os, sys
from nvflare.app_common.np.recipes import NumpyFedAvgRecipe
from nvflare.fuel.flare_api.flare_api import new_secure_session
NumpyFedAvgRecipe(name="own", model=[[1.0]], min_clients=1, num_rounds=1, train_script="x.py").export(".")
try:
    session = new_secure_session(sys.argv[1], sys.argv[2], timeout=10)
    print("logged in", flush=True)
    print("submitted", session.submit_job(os.path.abspath("own")), flush=True)
except Exception as error:
    print(type(error).__name__, error, flush=True)
os._exit(0)
"""


@pytest.fixture
def authority(proven):
    """Return what makes kits as the controller does, by the name of their federation."""
    kit = read_record(proven.results / SERVER / "kit.json", KitRecord)
    server = {"address": kit.address, "port": kit.port, "scheme": "tcp"}
    lease = identify_lease(proven.results, HOSTS)
    return lambda name: Authority(
        state.make_state_folder(), name, kit.release, server, str(WHEELHOUSE), lease=lease
    )


@pytest.fixture
def up(proven, members, shop):
    """Have the federation up, for jobs of its users."""
    keep = ("-e", "rekindle_federation_keep=true")
    done = play("playbooks/federate.yml", members.inventory, proven.results, *keep, cwd=shop)
    assert done.status == 0, done.output
    yield members
    stop = ["rekindle", "federate", "--stop", "-i", members.inventory]
    subprocess.run(stop, cwd=shop, check=True, stdout=subprocess.DEVNULL)


def leave(lab, host, packed):
    """Unpack a kit in ~/stranger of a host."""
    unpack = "rm -rf stranger && mkdir stranger && tar -xz -C stranger"
    subprocess.run(lab.ssh(host, unpack), input=packed, check=True)


def submit(lab, host, user):
    """Return what a user who submits a job with the kit in ~/stranger of a host is answered."""
    command = f"cd stranger && touch x.py && cat >job.py && {PYTHON} job.py {user} ~/stranger 2>/dev/null"
    done = capture_command(lab.ssh(host, command), input=SUBMITS, check=True, timeout=120)
    return done.stdout


def test_a_site_of_another_project_is_refused_in_mid_run_and_stops_nothing(going, authority):
    leave(going.lab, "three", authority("other").kit("four", "client"))
    joins = going.lab.ssh("three", JOINS)
    said = capture_command(joins).stdout
    assert "CERTIFICATE_VERIFY_FAILED" in said, said
    verdict, _ = going.ended(status=0)
    seen = {result.claim: result.message for result in verdict.evidence}
    assert verdict.verdict == "PASS"
    assert seen["only_sites_connected"] == "3 sites connected by TLS, each with its own certificate."


def test_a_user_without_the_right_submits_nothing(up, authority):
    ours = authority("rekindle")
    project = ours.folder / "project.yaml"
    content = yaml.safe_load(project.read_text())
    content["participants"].append({"name": MEMBER, "type": "admin", "org": "rekindle", "role": "member"})
    project.write_text(yaml.safe_dump(content))
    leave(up, "three", ours.kit(MEMBER, "admin"))
    said = submit(up, "three", MEMBER)
    assert "logged in" in said
    assert f"user '{MEMBER}' is not authorized for 'submit_job'" in said


def test_a_sites_kit_is_no_users(up, authority):
    """Not even with the admin's settings beside its key, of which none is secret."""
    leave(up, "two", authority("rekindle").kit(ADMIN, "admin"))
    theirs = "/home/lease/stranger/startup"
    root(up, "two", f"cp {FOLDER}/two/startup/client.* {theirs}; chown -R lease {theirs}")
    said = submit(up, "two", ADMIN)
    assert "logged in" not in said
    assert "error:client_registration" in said
    assert "CNMismatch" in root(up, SERVER, f"cat {FOLDER}/kept.log")
