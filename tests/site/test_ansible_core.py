# SPDX-License-Identifier: Apache-2.0
"""site.yml --check with each supported release of ansible-core, and on each Python of a controller's."""

import os
import subprocess
from pathlib import Path

import pytest
from runners.commands import capture_command
from runners.plays import REPOSITORY

from rekindle.environments.indexes import make_uv_environment

RELEASES = (
    ("2.19.14", "3.11"),
    ("2.20.7", "3.12"),
    ("2.21.5", "3.13"),
    ("2.21.5", "3.14"),
    ("2.22.0rc1", "3.13"),
)


def interpreter(minor):
    found = sorted(Path.home().glob(f".pyenv/versions/{minor}.*/bin/python{minor}"))
    return found[-1] if found else None


@pytest.mark.parametrize(("release", "minor"), RELEASES)
def test_a_host_is_ready(release, minor, local, tmp_path):
    python = interpreter(minor)
    if python is None:
        pytest.skip(f"This machine has no Python {minor} of pyenv's.")
    venv = tmp_path / "venv"
    environ = {**make_uv_environment(os.environ), "VIRTUAL_ENV": str(venv)}
    constraints = tmp_path / "constraints.txt"
    lock = (REPOSITORY / "requirements" / "controller.txt").read_text().splitlines()
    pins = (line.removesuffix(" \\") for line in lock if "==" in line and not line.startswith("ansible"))
    constraints.write_text("\n".join(pins))
    for arguments in (
        ("venv", "--quiet", "--python", python, venv),
        ("pip", "install", "--quiet", "--constraint", constraints, f"ansible-core=={release}", REPOSITORY),
    ):
        subprocess.run(["uv", *arguments], check=True, env=environ)
    done = capture_command(
        [venv / "bin/ansible-playbook", "site.yml", "--check", "-i", local],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": f"{venv}/bin:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "local: ready" in done.stdout
