"""site.yml as a user runs it, on this machine; run once and looked at by many tests."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@dataclass
class Play:
    """A finished ansible-playbook."""

    status: int
    output: str
    results: Path


def play(playbook, inventory, results, *more, timeout=600, **environ):
    """Run a playbook of the repository; results go to ``results``."""
    done = subprocess.run(
        ["ansible-playbook", playbook, "-i", str(inventory), "-e", f"rekindle_results={results}", *more],
        cwd=REPOSITORY,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", **environ},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Play(done.returncode, done.stdout + done.stderr, Path(results))


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
