# SPDX-License-Identifier: Apache-2.0
"""The collection ``rekindle.flare``: documented as Ansible documents one, and built into an image."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runners.commands import capture_command
from runners.plays import OWN_PLAYBOOK, REPOSITORY

BIN = Path(sys.executable).parent


def documented(kind, *names):
    """Return what ansible-doc knows of a kind of plugin, by name."""
    command = [BIN / "ansible-doc", "--type", kind, "--json", *names]
    environ = {**os.environ, **OWN_PLAYBOOK}
    done = capture_command(command, env=environ, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kind", "folder"), [("module", "action"), ("lookup", "lookup"), ("callback", "callback")]
)
def test_every_plugin_and_each_of_its_options_is_documented(kind, folder):
    names = {f"rekindle.flare.{path.stem}" for path in REPOSITORY.glob(f"plugins/{folder}/*.py")}
    docs = documented(kind, *names, "rekindle.flare.nothing")
    assert docs.keys() == names  # one without documentation would be missed
    for name, entry in docs.items():
        assert entry["doc"]["short_description"], name
        assert all(option.get("description") for option in entry["doc"].get("options", {}).values()), name


def test_every_role_has_an_entry_point():
    roles = {path.name for path in REPOSITORY.glob("roles/*")}
    docs = documented("role", *(f"rekindle.flare.{role}" for role in roles))
    assert {name.rpartition(".")[2] for name in docs} == roles
    assert all(entry["entry_points"].keys() == {"main"} for entry in docs.values())


def test_an_execution_environment_has_the_wheel(tmp_path):
    shutil.copy(REPOSITORY / "execution-environment.yml", tmp_path)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    create = [BIN / "ansible-builder", "create", "--context", "context"]
    subprocess.run(create, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    (wheel,) = (tmp_path / "context/_build/dist").iterdir()
    assert wheel.suffix == ".whl"
    recipe = next((tmp_path / "context").glob("*file")).read_text()
    assert "pip install --no-cache-dir /tmp/*.whl" in recipe
