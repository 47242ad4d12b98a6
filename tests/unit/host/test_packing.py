# SPDX-License-Identifier: Apache-2.0
"""What of a run is packed on its host, and what stays behind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from archives import collect, names
from runners.commands import capture_command

from rekindle.host import archive
from rekindle.judge import judge_run
from rekindle.records import LeftBehind, read_record
from rekindle.results.archive import unpack_archive


def test_a_run_comes_home_complete_but_for_large_files_and_links(tmp_path, monkeypatch, home):
    monkeypatch.setattr(archive, "FILE_LIMIT", 100)
    run = tmp_path / "pt_ddp"
    (run / "evidence").mkdir(parents=True)
    (run / "evidence" / "a.jsonl").write_text("{}")
    (run / "evidence" / "twin").hardlink_to(run / "evidence" / "a.jsonl")
    (run / ("long" * 30)).write_text("long")
    (run / "größe").write_text("ü")
    (run / "model.pt").write_bytes(b"0" * 101)
    (run / "secret").symlink_to("/etc/passwd")
    (run / "a\nb\x1b[2J").write_text("")
    os.mkfifo(run / "pipe")
    collect(run, home)
    assert names(home) == {"evidence/a.jsonl", "evidence/twin", "long" * 30, "größe", "left.json"}
    assert (home / "evidence" / "twin").read_text() == "{}"
    assert read_record(home / "left.json", LeftBehind).files == {
        "model.pt": "it has more than 100 bytes",
        "secret": "it is no regular file",
        "pipe": "it is no regular file",
        r"'a\nb\x1b[2J'": "its name is not one that is collected",
    }


@pytest.mark.parametrize("make", [lambda run: None, Path.touch])
def test_a_run_that_is_not_there_is_not_packed(tmp_path, make):
    run, packed = tmp_path / "pt_ddp", tmp_path / "pt_ddp.1.tar.gz"
    make(run)
    command = [sys.executable, "-m", "rekindle.host.archive", run, packed]
    done = capture_command(command)
    error = f"The host no longer has {run}. Fix: run site.yml again, which runs its job again.\n"
    assert (done.returncode, done.stderr) == (1, error)
    assert not packed.exists()


def test_of_too_much_the_largest_files_stay_behind(tmp_path, monkeypatch, home):
    run = tmp_path / "run"
    run.mkdir()
    for size in range(1, 9):
        (run / str(size)).write_bytes(bytes(size))
    monkeypatch.setattr(archive, "FILES_LIMIT", 5)
    monkeypatch.setattr(archive, "TOTAL_LIMIT", archive._LEFT_LIMIT + 10)
    collect(run, home)
    assert names(home) == {"1", "2", "3", "4", "left.json"}
    left = read_record(home / "left.json", LeftBehind)
    assert left.files == dict.fromkeys("5678", "there was no room left for it")


def test_proof_comes_home_however_much_there_is_beside_it(clean_run, home, monkeypatch):
    monkeypatch.setattr(archive, "FILES_LIMIT", 60)
    for n in range(200):
        (clean_run / f"job/{n}").touch()
        (clean_run / "folders" / str(n)).mkdir(parents=True)
        (clean_run / f"folders/{n}/more.log").touch()
    for n in range(1200):
        (clean_run / f"more.{n}").touch()
    collect(clean_run, home)
    assert judge_run(home).verdict == "PASS"
    assert len(list(home.rglob("*"))) <= 60
    left = read_record(home / "left.json", LeftBehind)
    assert len(left.files) == 1000
    assert len(left.files) + left.more > 1400


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv to be someone else than root")
def test_a_file_that_cannot_be_read_ends_no_collection(tmp_path, home):
    run = tmp_path / "run"
    (run / "closed" / "in").mkdir(parents=True)
    for name in ("closed/a", "seen", "unreadable"):
        (run / name).write_text(name)
    (run / "closed").chmod(0)
    (run / "unreadable").chmod(0)
    code = "import sys; from pathlib import Path; from rekindle.host.archive import pack_run\n"
    code += "print(sorted(pack_run(*map(Path, sys.argv[1:])).closed))"
    bare = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.getuid() == 0 else []
    packed = tmp_path / "a.tar.gz"
    closed = subprocess.check_output([*bare, sys.executable, "-c", code, run, packed], text=True)
    assert closed == "['closed/', 'unreadable']\n"
    unpack_archive(packed, home)
    assert names(home) == {"seen", "left.json"}
    left = read_record(home / "left.json", LeftBehind).files
    assert left == dict.fromkeys(("closed/", "unreadable"), "Permission denied")


def test_folders_that_lie_too_deep_stay_behind(tmp_path, home):
    deep = tmp_path / "run" / "/".join("d" * 40)
    deep.mkdir(parents=True)
    (deep / "file").touch()
    (tmp_path / "run" / "seen").touch()
    collect(tmp_path / "run", home)
    assert names(home) == {"seen", "left.json"}
