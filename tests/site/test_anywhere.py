# SPDX-License-Identifier: Apache-2.0
"""Playbooks start in any folder, also where Ansible reads no ansible.cfg, or say what to type."""

import json
import os
import runpy
import shutil
import sys
from importlib import util
from importlib.metadata import distribution
from pathlib import Path

import ansible.release
import pytest
from runners.commands import capture_command
from runners.plays import OWN_PLAYBOOK, REPOSITORY

OURS = str(Path(sys.executable).with_name("ansible-playbook"))
CALLBACK = REPOSITORY / "plugins" / "callback" / "rekindle.py"
STAGES = sorted(REPOSITORY.glob("playbooks/*.yml"))
PLAYBOOKS = ["site.yml", "retire.yml", *(f"playbooks/{path.name}" for path in STAGES)]
PREFLIGHT = f"{REPOSITORY}/playbooks/preflight.yml"
ANSIBLE = ("ansible-core", "cffi", "cryptography", "jinja2", "markupsafe", "packaging", "pyyaml")
FOLDERS = ("collections", "meta", "playbooks", "plugins", "roles", "src", "flare_jobs")


def run(folder, *command, **environ):
    """Run a command in a folder as a user does who has set nothing for Ansible nor for Python."""
    ours = ("ANSIBLE", "PYTHON", "REKINDLE", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return capture_command(
        command, cwd=folder, env={**kept, "PATH": "/usr/bin:/bin", "COLUMNS": "200", **environ}, timeout=120
    )


@pytest.fixture
def inventory(tmp_path):
    """Return an inventory of this machine."""
    host = {"ansible_connection": "local", "rekindle_root": f"{tmp_path}/root"}
    host |= {"rekindle_gpus_required": False, "rekindle_min_free_gb": 0}
    path = tmp_path / "lease_hosts.yml"
    path.write_text(json.dumps({"all": {"hosts": {"here": host}}}))
    return str(path)


def checkout(folder, *, links):
    """Return a copy of the repository to which all may write, with its links or what they lead to."""
    folder.mkdir()
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "rekindle" if name == "plugins" and not links else "")
        if links and (REPOSITORY / name).is_symlink():
            (folder / name).symlink_to((REPOSITORY / name).readlink())
        else:
            shutil.copytree(REPOSITORY / name, folder / name, symlinks=links, ignore=ignored)
    for name in ("ansible.cfg", "site.yml", "retire.yml"):
        shutil.copy(REPOSITORY / name, folder)
    folder.chmod(0o777)
    return folder


def test_a_playbook_runs_from_another_folder_with_one_table(tmp_path, inventory):
    """Also where the callback is enabled that our playbooks enable by themselves."""
    results = tmp_path / "results"
    done = run(tmp_path, OURS, PREFLIGHT, "-i", inventory, REKINDLE_RESULTS=str(results), **OWN_PLAYBOOK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (results / "here" / "host.json").exists()
    assert done.stdout.count(f"{results}/report.html") == 1


@pytest.mark.parametrize("links", [True, False])
def test_a_playbook_runs_where_ansible_ignores_our_configuration(tmp_path, inventory, links):
    folder = checkout(tmp_path / "a copy", links=links)
    done = run(folder, OURS, "playbooks/preflight.yml", "-i", inventory)
    assert "world writable directory" in done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    results = (folder / "results" / "latest").resolve(strict=True)
    assert (results / "here" / "host.json").exists()
    assert done.stdout.count("report.html") == 1


def test_every_playbook_is_whole_without_our_configuration(tmp_path, inventory):
    folder = checkout(tmp_path / "copy", links=True)
    done = run(folder, OURS, *PLAYBOOKS, "-i", inventory, "--list-tasks")
    assert done.returncode == 0, done.stderr
    assert "rekindle.flare.validate : Check the verdicts" in done.stdout


def test_no_play_gathers_facts_whatever_the_configuration():
    for name in PLAYBOOKS:
        text = (REPOSITORY / name).read_text()
        assert text.count("\n  hosts: ") == text.count("\n  gather_facts: false\n")


def test_an_ansible_without_our_packages_ends_with_what_to_type(tmp_path, inventory):
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ANSIBLE:
        for file in distribution(name).files or ():
            top = Path(str(distribution(name).locate_file(file.parts[0])))
            if file.parts[0] != ".." and not (bare / top.name).exists():
                (bare / top.name).symlink_to(top)
    python = [sys._base_executable, "-S", "-m", "ansible", "playbook"]  # type: ignore[attr-defined]
    done = run(tmp_path, *python, PREFLIGHT, "-i", inventory, PYTHONPATH=str(bare))
    printed = [line for line in done.stderr.splitlines() if line.startswith("[ERROR]")]
    assert done.returncode == 4, done.stdout + done.stderr
    assert len(printed) == 1
    assert printed[0].startswith(
        "[ERROR]: Rekindle needs junitparser, msgspec, prometheus_client, psutil, rich, uv, which"
    )
    assert "/.venv/bin/ansible-playbook in place of ansible-playbook." in printed[0]
    assert "Traceback" not in done.stderr
    assert "PLAY [" not in done.stdout


@pytest.fixture
def answer(capsys, monkeypatch):
    """Return what the callback of a repository says as it is loaded."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def load(path=CALLBACK):
        with pytest.raises(SystemExit) as exit_:
            runpy.run_path(str(path))
        assert exit_.value.code == 4
        return capsys.readouterr().err

    return load


def test_a_python_or_an_ansible_that_is_too_old_is_named(answer, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 10, 13))
        assert "Rekindle needs Python 3.11 or newer, which the Python that runs Ansible lacks" in answer()
    monkeypatch.setattr(ansible.release, "__version__", "2.16.14")
    assert "Rekindle needs ansible-core 2.17 or newer" in answer()


def test_without_a_venv_make_comes_first(answer, monkeypatch, tmp_path):
    shutil.copytree(CALLBACK.parent, tmp_path / "our site" / "plugins" / "callback")
    for name in ("site.yml", "Makefile"):
        (tmp_path / "our site" / name).touch()
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "rich" else util)
    path = tmp_path / "our site" / "plugins" / "callback" / "rekindle.py"
    site, printed = str(tmp_path / "our site"), answer(path)
    assert f"Fix: make -C '{site}', and then type '{site}/.venv/bin/ansible-playbook' in place of" in printed
    (tmp_path / "our site" / "Makefile").unlink()  # installed, not a checkout
    assert "Fix: install Rekindle beside Ansible, in one environment" in answer(path)
