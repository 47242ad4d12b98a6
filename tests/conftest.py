"""This machine as a host: read and equipped once, for all tests that run jobs on it."""

import pytest
from plays import REPOSITORY, play


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
