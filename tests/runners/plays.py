# SPDX-License-Identifier: Apache-2.0
"""Playbooks of the repository, run as a user runs them."""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SMALLEST = {"sites": 1, "ranks_per_site": 1}
"""Fields of a job that is there to be started, on each node that it is given."""
HANGS_S = 1800
"""A play that still goes on after this long, on however busy a machine, hangs."""


@dataclass
class Play:
    """A finished ansible-playbook."""

    status: int
    output: str
    results: Path


OWN_PLAYBOOK = {
    "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
    "ANSIBLE_CALLBACKS_ENABLED": "rekindle.flare.rekindle",
}
"""What a playbook of somebody's own has for the collection of this checkout."""


def checkout(folder, **jobs):
    """Return ``folder`` with a copy of what playbooks need, whose jobs a test can alter.

    Fields of a job.yml have other values by the job's name: ``pt_ddp={"sites": 1}``.
    """
    for name in ("ansible.cfg", "site.yml"):
        shutil.copy(REPOSITORY / name, folder)
    for name in ("flare_jobs", "meta", "playbooks", "plugins", "roles", "src"):
        shutil.copytree(REPOSITORY / name, folder / name, symlinks=True)
    (folder / "collections").symlink_to("playbooks/collections")
    for job, fields in jobs.items():
        described = folder / "flare_jobs" / job / "job.yml"
        for field, value in fields.items():
            text, found = re.subn(rf"(?m)^{field}: .*$", f"{field}: {value}", described.read_text())
            assert found == 1, (job, field)
            described.write_text(text)
    return folder


def play(playbook, inventory, results, *more, timeout=HANGS_S, cwd=REPOSITORY, **environ):
    """Run a playbook of the repository, or of a copy in ``cwd``; results go to ``results``."""
    with tempfile.TemporaryFile() as output:  # no pipe, which what a play leaves running would hold open
        done = subprocess.run(
            ["ansible-playbook", playbook, "-i", str(inventory), "-e", f"rekindle_results={results}", *more],
            cwd=cwd,
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", **environ},
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
        output.seek(0)
        return Play(done.returncode, output.read().decode(), Path(results))
