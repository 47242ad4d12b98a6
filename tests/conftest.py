# SPDX-License-Identifier: Apache-2.0
"""This machine as a host, for all tests that run jobs on it; and which tests go together."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from lab import LabError
from lab.machine import check
from runners.parts import look_up_seconds, split_files, write_seconds
from runners.plays import REPOSITORY, play
from xdist.scheduler import LoadScopeScheduling

SCOPES = {
    "tests/faults": "torch",
    "tests/honest": "torch",
    "tests/lies": "torch",
    "tests/places": "torch",
    "tests/site/test_installed.py": "torch",
    "tests/site/test_containers.py": "jobs",
    "tests/site/test_examples.py": "jobs",
    "tests/site/test_other_jobs.py": "jobs",
    "tests/site/test_upgrade.py": "jobs",
    "tests/hosts/test_federated.py": "federation",
    "tests/hosts/test_federated_faults.py": "federation",
    "tests/hosts/test_federated_hosts.py": "federation",
    "tests/hosts/test_federated_retired.py": "federation",
    "tests/hosts/test_lease_end.py": "pair",
    "tests/hosts/test_safety_over_ssh.py": "pair",
    "tests/hosts/test_site_over_ssh.py": "pair",
    "tests/hosts/test_federated_slurm.py": "slurm",
    "tests/hosts/test_slurm.py": "slurm",
    "tests/hosts/test_slurm_faults.py": "slurm",
    "tests/unit/capsule/test_wheelhouse.py": "wheelhouse",
    "tests/unit/doctor/test_collectors.py": "field",
    "tests/unit/doctor/test_field.py": "field",
    "tests/unit/report/test_callback.py": "callback",
    "tests/unit/report/test_callback_refusals.py": "refusals",
}
"""What shares what a session makes once: environments, the lab's two hosts or its cluster, a play."""
LONGEST = (
    "slurm",
    "jobs",
    "federation",
    "torch",
    "tests/hosts/test_cuts.py",
    "pair",
    "tests/hosts/test_molecule.py",
    "tests/hosts/test_pythons.py",
    "tests/site/test_site.py",
    "field",
    "callback",
    "refusals",
    "wheelhouse",
)
"""They begin first, so that no worker is left with one of them at the end."""

RUNS_AT_ONCE = 4
"""A run waits for NVFlare's polls more than it works: on 2 cores four take less time at once than in turn."""

os.environ["OMP_NUM_THREADS"] = "1"
"""Tests beside each other share few cores, and threads that wait for each other in a loop take them all."""


class Together(LoadScopeScheduling):
    """With `pytest -n` a worker has a file of slow tests, or all that share; other tests go one by one."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        folder = "/".join(file.split("/")[:2])
        alone = file if folder in {"tests/hosts", "tests/site"} else nodeid
        return SCOPES.get(folder) or SCOPES.get(file) or alone

    def _assign_work_unit(self, node):
        waits = [scope for scope in LONGEST if scope in self.workqueue]
        if waits:
            self.workqueue.move_to_end(waits[0], last=False)
        super()._assign_work_unit(node)


def pytest_addoption(parser):
    parser.addoption("--part", default="0/1", help="K/N: the K-th of N parts of the files, from 0 on")
    parser.addoption("--write-seconds", action="store_true", help="keep in tests/seconds.json what they took")


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, config.option.part.split("/"))
    files = split_files(look_up_seconds({item.path for item in items}), parts)[part]
    config.hook.pytest_deselected(items=[item for item in items if item.path not in files])
    items[:] = [item for item in items if item.path in files]


def pytest_terminal_summary(terminalreporter, config):
    if config.option.write_seconds and not hasattr(config, "workerinput"):
        every = [report for reports in terminalreporter.stats.values() for report in reports]
        write_seconds(report for report in every if hasattr(report, "duration"))


def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)


@pytest.fixture(scope="session")
def here():
    """Skip what needs a lab where none can be, though never in CI."""
    try:
        check()
    except LabError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))


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


@pytest.fixture(scope="session")
def runs_at_once():
    """Return what runs jobs beside each other."""
    pool = ThreadPoolExecutor(RUNS_AT_ONCE)
    yield pool
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def chosen(request):
    """Return what returns the jobs that a fixture has to run for the tests of this session."""

    def jobs(fixture, name):
        """Return those that tests with ``fixture`` have as ``name``, without those that are skipped."""
        using = [item for item in request.session.items if fixture in item.fixturenames]
        params = [item.callspec.params for item in using if not item.get_closest_marker("skip")]
        return {given[name].name: given[name] for given in params if name in given}.values()

    return jobs


@pytest.fixture(scope="session")
def judged(chosen, host_records, runs_at_once, tmp_path_factory):
    """Return a future for the verdict on each job that was chosen, by its name."""
    return {
        job: runs_at_once.submit(job.run, host_records, tmp_path_factory.mktemp(job.name))
        for job in chosen("judged", "job")
    }
