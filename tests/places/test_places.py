# SPDX-License-Identifier: Apache-2.0
"""A scheduler that Rekindle does not know, added as a folder; and Rekindle without the two that it knows."""

import io
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import nohup_place
import pytest
import run_here
from own_jobs import JOBS, supervisor, wait_for_end
from plays import REPOSITORY
from waits import until

from rekindle.host.payload import pack_payload
from rekindle.jobs import load_job
from rekindle.judge import judge_run
from rekindle.records import RunEnd, read_record

TOY = Path(nohup_place.__file__)
ROOM = {"rekindle/nohup/__init__.py": "", "rekindle/nohup/place.py": TOY.read_text()}
KNOWN = ("rekindle/slurm/", "rekindle/federation/")


@pytest.fixture
def altered(monkeypatch):
    """Return what has hosts get a payload with other files in it, and without the two places."""

    def alter(added):
        def others(*arguments):
            source, target = zipfile.ZipFile(io.BytesIO(pack_payload(*arguments))), io.BytesIO()
            with zipfile.ZipFile(target, "w") as archive:
                for name in source.namelist():
                    if not name.startswith(KNOWN):
                        archive.writestr(name, source.read(name))
                for name, text in added.items():
                    archive.writestr(name, text)
            return target.getvalue()

        monkeypatch.setattr(run_here, "pack_payload", others)

    return alter


def start(host_records, work):
    job = load_job(JOBS, "pt_ddp")
    assert run_here.start_here(job, JOBS, host_records, work) is None
    return work / "run"


def test_a_scheduler_is_a_folder_with_its_place(altered, host_records, tmp_path):
    altered(ROOM)
    run = start(host_records, tmp_path)
    assert not (run / "ended.json").exists()
    time.sleep(1.0)
    (tmp_path / nohup_place.GATE).touch()
    until((run / "progress.json").exists, 30, "its driver did not begin")
    wait_for_end(run, supervisor(run), 600)
    verdict = judge_run(run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    assert read_record(run / "ended.json", RunEnd).waited_s >= 1.0
    assert verdict.waited_s >= 1.0


@pytest.fixture
def controller(tmp_path):
    """Return what runs Python on a checkout without the two places."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "src", "plugins", "playbooks", "roles", "flare_jobs", "ansible.cfg"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout.rstrip("\0").split("\0")  # fmt: skip
    checkout = tmp_path / "checkout"
    for name in tracked:
        if not name.startswith(tuple(f"src/{room}" for room in KNOWN)):
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, checkout / name, follow_symlinks=False)

    def run(code, *arguments):
        environ = {**os.environ, "PYTHONPATH": f"{checkout}/src", "COLUMNS": "100"}
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=checkout, env=environ, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    return run


OWN = {"federation", "judge_federation", "probe_links", "provision_kit"}
"""Actions of federate.yml alone."""
LOAD = """
import importlib.util, sys
from pathlib import Path
for path in sorted(Path("plugins").glob("*/*.py")):
    if path.parent.name in {"action", "callback", "lookup"} and path.stem not in sys.argv[1:]:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(sorted({name.split(".")[1] for name in sys.modules if name.startswith("rekindle.")}))
"""
CALL = "from rekindle import cli; raise SystemExit(cli.main())"


def test_a_controller_has_neither_in_the_plugins_of_site_yml_nor_among_its_verbs(controller):
    loaded = controller(LOAD, *OWN)
    assert loaded.returncode == 0, loaded.stderr
    assert "results" in loaded.stdout
    assert "slurm" not in loaded.stdout
    assert "federation" not in loaded.stdout
    shown = controller(CALL, "--help")
    assert (shown.returncode, "\n  site " in shown.stdout) == (0, True)
    assert "federate" not in shown.stdout


def test_a_run_needs_neither_slurm_nor_federation(altered, controller, host_records, tmp_path):
    altered({})
    run = start(host_records, tmp_path)
    wait_for_end(run, supervisor(run), 600)
    verdict = judge_run(run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    judged = controller(CALL, "judge", run)
    assert (judged.returncode, "PASS" in judged.stdout) == (0, True), judged.stderr
    (payload,) = (tmp_path / "payload").iterdir()
    assert not any(name.startswith(KNOWN) for name in zipfile.ZipFile(payload).namelist())


def test_the_toy_is_small():
    assert len(TOY.read_text().splitlines()) < 150
