# SPDX-License-Identifier: Apache-2.0
"""Where NVFlare leaves its files, in runs of ours and in others'."""

import shutil

import pytest

from rekindle.flare.workspace import (
    ALL_LOGS,
    ERROR_LOGS,
    LOG,
    LOGS,
    MEMBERS,
    find_workspaces,
    locate_workspace,
)
from rekindle.host import archive
from rekindle.records import RecordError

NAMES = {"server", "site-1", "site-2"}


def test_a_recorded_run_has_the_server_and_its_sites(clean_run):
    run = find_workspaces(clean_run)[0]
    assert (set(run.members), run.sites, run.job) == (NAMES, ["site-1", "site-2"], "pt_ddp")
    (line,) = run.find("server", r"Round 1 started")
    assert line.file == "job/workspace/pt_ddp/server/log.txt"
    text = (clean_run / line.file).read_text().splitlines()
    assert text[line.line - 1].endswith(line.match.string[-20:])


def test_a_run_that_left_nothing_of_nvflares_has_no_members(clean_run):
    shutil.rmtree(clean_run / "job")
    run = find_workspaces(clean_run)[0]
    assert (run.folder, run.members, run.models()) == (clean_run, {}, {})


def test_the_patterns_find_what_the_members_left(clean_run):
    members = find_workspaces(clean_run)[0].members.values()
    assert set(clean_run.glob(LOGS)) == {member.path(LOG) for member in members}
    assert set(clean_run.glob(ALL_LOGS)) == {
        member.path(log) for member in members for log in (LOG, ERROR_LOGS[0])
    }


@pytest.mark.parametrize("log", [LOG, *ERROR_LOGS])
def test_the_archive_of_a_run_has_the_logs_before_its_autopsy(log):
    """The archive spells their names itself, as it imports the standard library alone."""
    name = f"job/{MEMBERS}/{log}".replace("*", "x")
    assert archive._lateness(name) < archive._lateness("autopsy/stacks.txt")


@pytest.mark.parametrize("place", ["simulator", "poc"])
def test_a_jobs_name_and_rounds_are_in_its_files(recordings, place):
    run = locate_workspace(recordings / "foreign" / place)
    assert (set(run.members), run.name) == (NAMES, "hello_numpy")


def test_a_job_without_a_name_has_its_folders(recordings, tmp_path):
    folder = shutil.copytree(recordings / "foreign/simulator/hello_numpy", tmp_path / "renamed")
    for path in folder.rglob("meta.json"):
        path.unlink()
    assert locate_workspace(folder).name == "renamed"


def test_a_log_that_cannot_be_read_is_reported(clean_run):
    log = clean_run / "job/workspace/pt_ddp/site-1/log.txt"
    log.unlink()
    log.mkdir()
    (message,) = find_workspaces(clean_run)[0].unread()
    assert message.startswith("job/workspace/pt_ddp/site-1/log.txt was not read")


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RecordError, match="Fix:"):
        locate_workspace(tmp_path)
