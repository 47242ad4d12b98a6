# SPDX-License-Identifier: Apache-2.0
"""What the callback refuses before a host is asked, and what a check and a play without stages leave."""

import json
import re

import pytest
from callback_plays import make_repository, play


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("repository"))


@pytest.mark.parametrize(
    "arguments",
    [("site.yml", "--syntax-check"), ("site.yml", "--list-tasks"), ("foreign.yml", "--limit", "good")],
)
def test_nothing_is_written_where_no_stage_runs(repository, tmp_path, arguments):
    output = play(repository, *arguments, "-e", f"rekindle_results={tmp_path}/r")
    assert "ERROR" not in output
    assert "report.html" not in output
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ("{}/file", "is not a folder. Fix: name a folder under results/."),
        ("{}/link", "is a link to /nowhere/at/all, which is not there. Fix: name a folder that is there."),
        (
            "/proc/results",
            "cannot be written: No such file or directory. Fix: name another folder in rekindle_results.",
        ),
    ],
)
def test_a_play_ends_before_any_task_where_its_results_cannot_be_kept(repository, tmp_path, results, says):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").symlink_to("/nowhere/at/all")
    folder = results.format(tmp_path)
    arguments = ("playbooks/validate.yml", "--limit", "good", "-e", f"rekindle_results={folder}")
    output = play(repository, *arguments)
    assert [line for line in output.splitlines() if "ERROR" in line] == [f"[ERROR]: {folder} {says}"]
    assert "TASK" not in output


def test_what_leaves_tasks_out_is_refused(repository, tmp_path):  # unit/settings/test_play.py has each
    options = ("--tags=preflight", "-e", f"rekindle_results={tmp_path / 'r'}")
    output = play(repository, "playbooks/preflight.yml", *options)
    assert "--tags leaves out tasks, and nothing would be proven. Fix: " in output
    assert "TASK" not in output
    assert not (tmp_path / "r").exists()


def test_a_stage_without_a_host_is_refused(repository, tmp_path):
    (tmp_path / "none.yml").write_text("all: {hosts: {}}")
    arguments = ("-i", str(tmp_path / "none.yml"), "-e", f"rekindle_results={tmp_path / 'r'}")
    output = play(repository, "site.yml", *arguments)
    assert "No host is left to do anything for. Fix: " in output
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("noted", [False, True])
def test_a_check_ends_with_its_own_words_and_leaves_no_results(repository, tmp_path, noted):
    before = set((repository / "results").iterdir()) if (repository / "results").exists() else set()
    environ = {"REKINDLE_TOLD": str(tmp_path / "note")} if noted else {}
    (tmp_path / "tmp").mkdir()
    arguments = ("site.yml", "--check", "--limit", "good,looping")
    after = play(repository, *arguments, TMPDIR=str(tmp_path / "tmp"), **environ).split("PLAY RECAP", 1)[1]
    assert "looping: refused: Item 2 is odd." in after
    assert not re.search("SKIPPED|report.html", after)
    assert (set((repository / "results").iterdir()) if before else before) == before
    assert not list((tmp_path / "tmp").glob("rekindle-*"))
    if noted:
        assert (tmp_path / "note").read_text() == str(tmp_path / "check")
        asked = json.loads((tmp_path / "check/run.json").read_text())["asked"]
        assert asked == {"good": "plan", "looping": "plan"}
