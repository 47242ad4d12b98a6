# SPDX-License-Identifier: Apache-2.0
"""Workspaces of NVFlare's: judge and diagnose name one cause, none is silent, and no echo comes first.

Those of ``workspaces/`` are jobs of many habits, run in NVFlare's simulator (2.7.2 and 2.8.0), with logs cut.
The first line has the words and the layers that are right, also of the judge's own sentence.
"""

import json
import re
from pathlib import Path

import pytest
from samples.one_cause import agree

from rekindle.doctor import diagnose_run
from rekindle.judge import judge_run

HERE = Path(__file__).parent / "workspaces"
RECORDINGS = Path(__file__).parents[2] / "recordings"
FOREIGN = sorted(path.parent for path in (RECORDINGS / "foreign").glob("*/*/server"))


def _workspace(folder, name):
    label, *files = re.split(r"^=== (\S+)\n", (HERE / f"{name}.txt").read_text(), flags=re.MULTILINE)
    for file, content in zip(files[::2], files[1::2], strict=True):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)
    return label.strip()


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.txt")))
def test_a_workspace_has_the_cause_that_its_label_has(tmp_path, name):
    label = _workspace(tmp_path / name, name)
    found = agree(tmp_path / name)
    if label == "healthy":
        assert (found.findings, diagnose_run(tmp_path / name).cause) == ((), None)
        assert not found.timeline or found.went_on
        return
    words, layers = label.split("; ")
    first = found.findings[0]
    assert any(word in first.cause for word in words.split("|"))
    assert first.layer in layers.split()


def test_a_workspace_inside_the_folder_that_is_given_has_the_same_cause(tmp_path):
    _workspace(tmp_path / "argparse/job", "argparse")
    found = agree(tmp_path / "argparse")
    assert found.cause.cause == "A script was started without options that it requires: --epochs."
    assert (tmp_path / "argparse" / found.cause.file).is_file()
    shown = [one.file for one in judge_run(tmp_path / "argparse").evidence if one.file]
    assert shown
    assert all((tmp_path / "argparse" / file).is_file() for file in shown)


@pytest.mark.parametrize("run", FOREIGN, ids=lambda run: run.parent.name)
def test_a_recorded_workspace_has_one_cause(run):
    agree(run)


REFUSED = (
    "2026-11-28 {time},001 - conn_manager - ERROR - Connector [CH00001 ACTIVE tcp://fl:8002] failed with "
    "exception ConnectionRefusedError: [Errno 111] Connection refused\n"
)


def _goes_on_trying(folder, *times):
    """Let site-1 of a workspace log at these times that the server refuses its connection."""
    log = folder / "site-1/log.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    lines += [REFUSED.format(time=time) for time in times]
    log.write_text("".join(lines))


def test_a_site_that_goes_on_trying_after_a_server_that_ended_well_has_no_cause(tmp_path):
    _workspace(tmp_path, "healthy")
    _goes_on_trying(tmp_path, "23:58:01", "23:58:31", "23:59:59")
    found = diagnose_run(tmp_path)
    assert (found.cause, found.went_on) == (None, True)
    assert [moment.process for moment in found.timeline][-1] == "site-1"
    assert diagnose_run(tmp_path, failed=True).cause is None


def test_a_server_that_was_shut_down_did_not_die(tmp_path):
    _workspace(tmp_path, "poc_server_killed")
    died = diagnose_run(tmp_path)
    assert died.cause.name == "server_died"
    log = tmp_path / "server/log.txt"
    log.write_text(
        f"{log.read_text()}2026-11-28 14:04:21,001 - FederatedServer - INFO - shutting down server\n"
    )
    found = diagnose_run(tmp_path)
    assert (found.cause, found.went_on, found.timeline) == (None, True, died.timeline)


@pytest.mark.parametrize(
    ("workspace", "reason", "died"),
    [
        ("server_killed", "finished", True),
        ("server_killed", "hung", False),
        ("server_killed", "limit", False),
        ("poc_server_killed", "hung", True),
    ],
)
def test_a_server_in_job_py_itself_was_there_until_the_driver_ended_the_run(
    tmp_path, workspace, reason, died
):
    _workspace(tmp_path, workspace)
    ended = {"schema": "rekindle/ended/1", "started": "2026-11-28T12:00:00Z", "duration_s": 60.0}
    (tmp_path / "ended.json").write_text(json.dumps({**ended, "reason": reason, "exit_status": None}))
    found = diagnose_run(tmp_path, failed=True)
    assert ("server_died" in [one.name for one in found.findings]) == died


def test_what_sites_report_of_a_server_that_died_is_an_echo_of_its_death(tmp_path):
    _workspace(tmp_path, "server_killed")
    _goes_on_trying(tmp_path, "23:58:01", "23:58:31", "23:59:59")
    cause, *others = agree(tmp_path).findings
    assert (cause.name, cause.file) == ("server_died", "server/log.txt")
    assert [(one.name, one.echo) for one in others] == [("connection_refused", True)]


def test_a_server_that_raised_before_it_was_gone_has_its_own_cause(tmp_path):
    _workspace(tmp_path, "server_killed")
    log = tmp_path / "server/log.txt"
    raised = "Traceback (most recent call last):\n  File \"/srv/ctl.py\", line 9, in run\nKeyError: 'auroc'\n"
    log.write_text(f"{log.read_text()}{raised}")
    _goes_on_trying(tmp_path, "23:58:01")
    assert "KeyError" in agree(tmp_path).cause.cause


@pytest.mark.parametrize("folder", ["", "server_killed"])
def test_a_refused_connection_is_a_cause_where_no_server_ran_or_its_log_goes_on(tmp_path, folder):
    if folder:
        _workspace(tmp_path, folder)
        (tmp_path / "server/log.txt").open("a").write("2026-11-28 23:59:59,001 - FedAvg - INFO - waits\n")
    _goes_on_trying(tmp_path, "23:58:01", "23:58:31")
    cause = diagnose_run(tmp_path).cause
    assert (cause.layer, Path(cause.file).parent.name[:5]) == ("network", "site-")


def test_a_trainer_that_was_refused_before_the_server_ended_is_a_cause(tmp_path):
    _workspace(tmp_path, "connect")
    _goes_on_trying(tmp_path, "23:58:01")
    assert agree(tmp_path).cause.layer == "network"
