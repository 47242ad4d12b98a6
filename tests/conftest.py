"""This machine as a host: read and equipped once, for all tests that run jobs on it.

Under `pytest -n 2 --dist loadgroup` they go to one worker, tests on hosts of the lab to the other, and unit
tests to whichever has time, as runs of jobs wait as much as they work.
"""

import pytest
from plays import REPOSITORY, play

TOGETHER = {"faults": "here", "site": "here", "hosts": "lab"}


def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(REPOSITORY / "tests").parts[0]
        if folder in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(TOGETHER[folder]))


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """Return a copy of inventories/local whose host keeps everything in a folder of the test's."""
    folder = tmp_path_factory.mktemp("lease")
    inventory = folder / "hosts.yml"
    text = (REPOSITORY / "inventories" / "local" / "hosts.yml").read_text()
    inventory.write_text(text + f"      rekindle_root: {folder}/rekindle\n      rekindle_min_free_gb: 5\n")
    return inventory


@pytest.fixture(scope="session")
def site(local, tmp_path_factory):
    """Return the first run of site.yml."""
    return play("site.yml", local, tmp_path_factory.mktemp("results") / "first")


@pytest.fixture(scope="session")
def host_records(local, tmp_path_factory):
    """Return a folder with this machine's host.json, plan.json and env.json, as for a run of pt_ddp."""
    results = tmp_path_factory.mktemp("results") / "records"
    for stage in ("preflight", "plan", "environments"):
        done = play(f"playbooks/{stage}.yml", local, results)
        assert done.status == 0, done.output
    return results / "local"
