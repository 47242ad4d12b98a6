# SPDX-License-Identifier: Apache-2.0
"""``rekindle judge``, of kept results and of workspaces."""

import os
import shutil

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, add_placed

from rekindle.records import write_record


def test_judge_takes_results_a_host_a_job_and_a_workspace(call, results, recordings):
    status, out, _ = call("judge", results)
    assert status == 1
    assert "pt_ddp: PASS" in out
    assert "gpu-2 pt_ddp: SKIPPED: No verdict was collected." in out
    assert call("judge", results / "gpu-1")[0] == 0
    assert call("judge", results / "gpu-1/pt_ddp")[0] == 0
    assert call("judge", results / "gpu-2")[0] == 1
    assert call("judge", recordings / "foreign/poc")[0] == 1


@pytest.mark.parametrize("content", ['{"run": 7, "config": {"lr": 0.1}}', '{"schema": "mine/1"}', "[1, 2]"])
@pytest.mark.parametrize("name", ["run.json", "host.json", "spec.json", "plan.json"])
def test_judge_takes_a_workspace_with_records_of_its_own(call, recordings, tmp_path, name, content):
    workspace = shutil.copytree(recordings / "foreign/simulator-crash", tmp_path / "workspace")
    unnamed = call("judge", workspace)
    (workspace / name).write_text(content)
    assert call("judge", workspace) == unnamed
    assert unnamed[0] == 1


def test_a_run_that_is_broken_keeps_no_other_from_being_judged(call, results):
    shutil.copytree(results / "gpu-1/pt_ddp", results / "gpu-2/pt_ddp")
    add_placed(results / "gpu-2", "pt_ddp", results / "gpu-2/pt_ddp/spec.json")
    assert call("judge", results)[0] == 0
    (results / "gpu-2/pt_ddp/spec.json").write_text("{}")
    status, out, _ = call("judge", results)
    assert (status, "pt_ddp: PASS" in out) == (1, True)
    assert "UNPROVEN: The host's files are not a run of pt_ddp: spec.json is not a valid RunSpec" in out


@pytest.mark.parametrize("alter", ["unlink", "mkdir", "write"])
def test_what_was_sent_and_cannot_be_read_is_no_leave_to_believe_the_host(call, results, alter):
    placed = results / "gpu-1/pt_ddp.placed.json"
    placed.unlink()
    if alter != "unlink":
        placed.mkdir() if alter == "mkdir" else placed.write_text("{}")
    for folder in (results, results / "gpu-1", results / "gpu-1/pt_ddp"):
        status, out, err = call("judge", folder)
        assert (status > 0, "PASS" in out, "pt_ddp.placed.json" in out + err) == (True, False, True)


def test_a_run_is_required_as_it_was_sent_whatever_its_verdict_says(call, results):
    run = results / "gpu-1/pt_ddp"
    write_record(run / "verdict.json", replace(FAIL, host="gpu-1", verdict="SKIPPED", required=False))
    (run / "spec.json").unlink()
    assert call("judge", results)[0] == 1


@pytest.mark.parametrize("gone", ["spec.json", "evidence"])
def test_what_was_collected_of_a_run_whose_files_are_gone_is_no_pass(call, results, gone):
    run = results / "gpu-1/pt_ddp"
    (shutil.rmtree if (run / gone).is_dir() else os.unlink)(run / gone)
    for folder in (results, results / "gpu-1"):
        status, out, _ = call("judge", folder)
        assert (status, "pt_ddp: PASS" in out) == (1, False)
