"""Playbooks of the repository, run as a user runs them."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


@dataclass
class Play:
    """A finished ansible-playbook."""

    status: int
    output: str
    results: Path


def checkout(folder):
    """Return ``folder`` with a copy of what playbooks need, whose jobs a test can alter."""
    for name in ("ansible.cfg", "site.yml"):
        shutil.copy(REPOSITORY / name, folder)
    for name in ("flare_jobs", "playbooks", "plugins", "roles", "src"):
        shutil.copytree(REPOSITORY / name, folder / name, symlinks=True)
    return folder


def play(playbook, inventory, results, *more, timeout=600, cwd=REPOSITORY, **environ):
    """Run a playbook of the repository, or of a copy in ``cwd``; results go to ``results``."""
    done = subprocess.run(
        ["ansible-playbook", playbook, "-i", str(inventory), "-e", f"rekindle_results={results}", *more],
        cwd=cwd,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", **environ},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Play(done.returncode, done.stdout + done.stderr, Path(results))
