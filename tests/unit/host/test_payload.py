# SPDX-License-Identifier: Apache-2.0
"""One payload: a job's own files and ours, also for several hosts at once, each of which has it built."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

import rekindle.host.payload
from rekindle.host.payload import list_left_behind, list_travelling, pack_payload, write_payload

JOBS = Path(__file__).parents[3] / "flare_jobs"


def test_another_that_is_done_just_before_takes_nothing_away(tmp_path, monkeypatch):
    replace, others = Path.replace, []

    def after_another(path, target):
        if not others:
            others.append(None)
            others[0] = write_payload(pack_payload(JOBS), tmp_path)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", after_another)
    payload = write_payload(pack_payload(JOBS), tmp_path)
    assert others == [payload]
    assert list(tmp_path.iterdir()) == [payload]


def _names(payload):
    with zipfile.ZipFile(payload) as archive:
        return {name for name in archive.namelist() if name.startswith("flare_jobs/")}


@pytest.fixture
def jobs(tmp_path):
    """Return a folder of jobs, with files that are not theirs."""
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "key").write_text("secret")
    jobs = tmp_path / "checkout" / "flare_jobs"
    files = ("job.py", "data/x.csv", ".env", ".git/config", ".cache/x", "__pycache__/job.pyc", "data/.env")
    for name in files:
        path = jobs / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (jobs / ".env").write_text("x")
    (jobs / "mine/link").symlink_to(outside / "key")
    (jobs / "mine/folder").symlink_to(outside)
    (jobs / "mine/inside").symlink_to("job.py")
    os.mkfifo(jobs / "mine/pipe")
    return jobs


OWN = {f"flare_jobs/mine/{name}" for name in ("job.py", "data/x.csv", "inside")}


def _git(folder, *words):
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def test_regular_files_and_links_to_them_travel_and_no_other_links_dotfiles_or_caches(jobs, tmp_path):
    assert _names(write_payload(pack_payload(jobs), tmp_path / "out")) == OWN
    assert list_left_behind(jobs) == []


def test_of_a_checkout_what_git_tracks_travels_and_nothing_else(jobs, tmp_path):
    shutil.rmtree(jobs / "mine/.git")
    _git(jobs.parent, "init")
    _git(jobs.parent, "add", "-f", ".")  # also what should not be
    (jobs / "mine/notes.txt").write_text("not tracked")
    (jobs / "mine/größe.txt").write_text("not tracked")
    assert _names(write_payload(pack_payload(jobs), tmp_path / "out")) == OWN
    assert list_left_behind(jobs) == ["mine/größe.txt", "mine/notes.txt"]
    (jobs / "mine/data/x.csv").unlink()
    _git(jobs.parent, "add", "flare_jobs/mine/größe.txt")
    names = {f"flare_jobs/mine/{name}" for name in ("job.py", "größe.txt", "inside")}
    assert _names(write_payload(pack_payload(jobs), tmp_path / "out")) == names


def test_what_is_linked_in_place_of_a_tracked_file_or_folder_stays(jobs, tmp_path):
    shutil.rmtree(jobs / "mine/.git")
    _git(jobs.parent, "init")
    _git(jobs.parent, "add", "flare_jobs/mine/job.py", "flare_jobs/mine/data/x.csv")
    shutil.rmtree(jobs / "mine/data")
    (tmp_path / "secret/x.csv").write_text("secret")
    (jobs / "mine/data").symlink_to(tmp_path / "secret")
    assert _names(write_payload(pack_payload(jobs), tmp_path / "out")) == {"flare_jobs/mine/job.py"}


def test_without_git_all_regular_files_travel(jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _names(write_payload(pack_payload(jobs), tmp_path / "out")) == OWN


def test_results_of_plays_that_began_in_a_jobs_folder_stay(jobs):
    results = jobs / "mine" / "results" / "20261127T000000Z"
    (results / "payload").mkdir(parents=True)
    (results / "payload" / "rekindle.zip").touch()
    assert "results/20261127T000000Z/payload/rekindle.zip" in list_travelling(jobs / "mine")
    (results / "run.json").touch()
    assert list_travelling(jobs / "mine") == ["data/x.csv", "inside", "job.py"]


def test_of_the_package_the_same_travels(tmp_path, jobs, monkeypatch):
    monkeypatch.setattr(rekindle.host.payload, "PACKAGE", jobs)
    with zipfile.ZipFile(write_payload(pack_payload(JOBS), tmp_path / "out")) as archive:
        names = {name for name in archive.namelist() if name.startswith("rekindle/")}
    assert names == {f"rekindle/mine/{name}" for name in ("job.py", "data/x.csv", "inside")}


def test_the_digest_of_a_folder_is_of_names_and_content_that_travel(tmp_path):
    (tmp_path / "job.py").write_text("print()")
    first = rekindle.host.payload.digest_payload(tmp_path)
    (tmp_path / ".hidden").touch()
    assert rekindle.host.payload.digest_payload(tmp_path) == first
    (tmp_path / "job.py").rename(tmp_path / "run.py")
    renamed = rekindle.host.payload.digest_payload(tmp_path)
    (tmp_path / "run.py").write_text("print(1)")
    assert len({first, renamed, rekindle.host.payload.digest_payload(tmp_path)}) == 3
