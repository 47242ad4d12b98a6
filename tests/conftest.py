"""This machine as a host, for all tests that run jobs on it; and which tests go together."""

import os

import pytest
from plays import REPOSITORY, play
from xdist.scheduler import LoadScopeScheduling


class Together(LoadScopeScheduling):
    """With `pytest -n 2` one worker has what runs on this machine, the other what runs on hosts of the lab.

    Unit tests go to whichever has time; runs of jobs wait as much as they work.
    """

    def _split_scope(self, nodeid):
        scopes = {"faults": "here", "site": "here", "hosts": "lab"}
        return scopes.get(nodeid.split("/")[1], nodeid)


def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory):
    """Keep what a controller keeps for its user in a folder of the tests'."""
    folder = tmp_path_factory.mktemp("state")
    os.environ["XDG_STATE_HOME"] = str(folder)
    return folder / "rekindle"


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """Return a copy of inventories/local whose host keeps everything in a folder of the test's."""
    folder = tmp_path_factory.mktemp("lease")
    inventory = folder / "hosts.yml"
    text = (REPOSITORY / "inventories" / "local" / "hosts.yml").read_text()
    inventory.write_text(text + f"      rekindle_root: {folder}/rekindle\n      rekindle_min_free_gb: 5\n")
    with inventory.open("a") as stream:
        stream.write("      ansible_password: CANARY\n      ansible_become_password: CANARY\n")
    return inventory


@pytest.fixture(scope="session")
def site(local, tmp_path_factory):
    """Return the first run of site.yml, by a user with secrets."""
    secrets = ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "ANSIBLE_BECOME_PASSWORD")
    results = tmp_path_factory.mktemp("results") / "first"
    return play("site.yml", local, results, "-vvv", **dict.fromkeys(secrets, "CANARY"))


@pytest.fixture(scope="session")
def host_records(local, tmp_path_factory):
    """Return a folder with this machine's host.json, plan.json and env.json, as for a run of pt_ddp."""
    results = tmp_path_factory.mktemp("results") / "records"
    for stage in ("preflight", "plan", "environments"):
        done = play(f"playbooks/{stage}.yml", local, results)
        assert done.status == 0, done.output
    return results / "local"
