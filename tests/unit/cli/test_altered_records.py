# SPDX-License-Identifier: Apache-2.0
"""Records that somebody altered, moved or cannot be read: no report, no verdict and no traceback of them."""

import json
import os
import shutil
import subprocess

import pytest
from samples.edits import edit

from rekindle.records import PlaybookRecord, write_record
from rekindle.results import seal

ALTERED = "is not as it was sealed: gpu-1/pt_ddp/verdict.json was altered, is missing or cannot be read."


@pytest.fixture
def run(bring, tmp_path):
    """Return a run in a results folder that a playbook sealed as it ended."""
    folder = bring(tmp_path / "results")
    began = {folder.parent.name: "2026-11-25T22:00:00Z"}
    record = PlaybookRecord(
        run="results", started="2026-11-25T22:00:00Z", hosts=(folder.parent.name,), began=began
    )
    write_record(tmp_path / "results/run.json", record)
    seal.seal_folder(tmp_path / "results", None)
    return folder


@pytest.mark.parametrize("how", ["altered", "missing"])
def test_no_report_is_made_of_a_record_that_is_not_as_it_was_sealed(run, call, how):
    results = run.parents[1]
    assert "sealed" not in call("report", results)[2]
    if how == "altered":
        edit(run / "verdict.json", '"PASS"', '"FAIL"')
    else:
        (run / "verdict.json").unlink()
    before = (results / "results.json").read_bytes()
    status, _, err = call("report", results)
    assert (status, ALTERED in err) == (2, True), err
    assert (results / "results.json").read_bytes() == before


def test_a_report_is_made_while_a_playbook_writes_to_the_folder(run, call):
    results = run.parents[1]
    edit(results / "run.json", '("gpu-1":) ?"2026', r'\1 "2099')
    edit(run / "verdict.json", '"PASS"', '"FAIL"')
    assert "not as it was sealed" not in call("report", results)[2]


def test_a_run_in_the_place_of_another_is_not_judged_as_that(run, call):
    host = run.parent
    run.rename(host / "tf_mirrored")
    (host / "pt_ddp.placed.json").rename(host / "tf_mirrored.placed.json")
    for asked in (host / "tf_mirrored", host.parent):
        status, out, err = call("judge", asked)
        assert (status != 0, "tf_mirrored has the run of pt_ddp on gpu-1" in out + err) == (True, True)
    assert call("judge", shutil.copytree(host, host.parents[1] / "kept") / "tf_mirrored")[0] == 0


def test_folders_too_deep_to_read_are_a_sentence(run, call):
    base = os.open(run, os.O_RDONLY)
    for _ in range(1_100):
        os.mkdir("d", dir_fd=base)
        base, last = os.open("d", os.O_RDONLY, dir_fd=base), base
        os.close(last)
    os.close(base)
    status, _, err = call("verify", run.parents[1])
    assert (status, err.count("\n"), "nested too deeply" in err) == (3, 1, True), err
    subprocess.run(["rm", "-r", run / "d"], check=True)  # pytest's own way to remove it is too deep, too


def test_a_name_that_no_file_has_is_a_sentence(run, call):
    path = run.parents[1] / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hosts": ["a\0b"]}))
    status, _, err = call("judge", run.parents[1])
    assert (status, err.count("\n"), "NUL character" in err) == (3, 1, True), err


@pytest.mark.parametrize("content", ["", "garbage", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_an_own_key_that_cannot_be_read_is_a_sentence(run, call, content, tmp_path):
    (key,) = tmp_path.rglob("rekindle/key")
    key.write_text(content)
    status, _, err = call("verify", run.parents[1])
    assert (status, err.count("\n"), "own key is no private key" in err) == (2, 1, True), err


def test_an_empty_key_is_none(run, call):
    status, _, err = call("verify", run.parents[1], "--key", "")
    assert (status, "'' is no file and no fingerprint." in err) == (2, True)
