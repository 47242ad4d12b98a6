# SPDX-License-Identifier: Apache-2.0
"""A scheduler that Rekindle does not know, added as a folder; and Rekindle without the two that it knows."""

import io
import os
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path

import nohup_place
import pytest
import run_here
from runners.commands import capture_command
from runners.own_jobs import JOBS, supervisor, wait_for_end
from runners.plays import checkout, play
from runners.waits import until

from rekindle.host.payload import pack_payload
from rekindle.jobs import load_job
from rekindle.judge import judge_run
from rekindle.records import RunEnd, read_record

TOY = Path(nohup_place.__file__)
ROOM = {"rekindle/nohup/__init__.py": "", "rekindle/nohup/place.py": TOY.read_text()}
KNOWN = ("rekindle/slurm/", "rekindle/federation/")


@pytest.fixture
def altered(monkeypatch):
    """Return what has hosts get a payload with other files in it, and without the two rooms."""

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


def test_site_yml_proves_its_job_without_slurm_and_federation(local, host_records, tmp_path):
    """Neither the controller's package nor the payload has them."""
    (tmp_path / "copy").mkdir()
    copy = checkout(tmp_path / "copy", pt_ddp={"ranks_per_site": 1})
    for room in KNOWN:
        shutil.rmtree(copy / "src" / room)
    done = play("site.yml", local, tmp_path / "results", cwd=copy, PYTHONPATH=f"{copy}/src")
    assert done.status == 0, done.output
    assert re.search(r"local\s.*pt_ddp\s.*PASS", done.output), done.output
    (payload,) = (tmp_path / "results" / "payload").glob("*.zip")
    assert not any(name.startswith(KNOWN) for name in zipfile.ZipFile(payload).namelist())
    command = [sys.executable, "-c", "from rekindle import cli; cli.main()", "--help"]
    environ = {**os.environ, "PYTHONPATH": f"{copy}/src"}
    shown = capture_command(command, env=environ, check=True, timeout=60).stdout
    assert ("\n  site " in shown, "federate" in shown) == (True, False)


def test_the_toy_is_small():
    assert len(TOY.read_text().splitlines()) < 150
