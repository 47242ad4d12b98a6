"""The repository's playbooks as a user runs them."""

import os
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
