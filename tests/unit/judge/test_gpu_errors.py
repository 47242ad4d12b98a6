# SPDX-License-Identifier: Apache-2.0
"""The check on GPU errors: recorded runs on GPUs whose samples are given some."""

import shutil

import pytest
from samples.edits import lines_in, put_lines

from rekindle.judge import CHECKS
from rekindle.judge.opener import open_run


@pytest.fixture
def run(recordings, tmp_path):
    """Return a recorded run on two H200s whose samples have no error."""
    run = shutil.copytree(recordings / "runs" / "pt_ddp-h100-x2", tmp_path / "run")
    _gpus(run, lambda number, gpu: gpu.update(xids=[], ecc_uncorrected=0))
    return run


def _samples(run, change):
    samples = lines_in(run / "samples.jsonl")
    for number, sample in enumerate(samples):
        change(number, sample)
    put_lines(run / "samples.jsonl", samples)
    return len(samples)


def _gpus(run, change, only=None):
    """Change every GPU of every sample, or the ``only`` one (0 or 1)."""

    def each(number, sample):
        for uuid in sorted(sample["gpus"])[only : None if only is None else only + 1]:
            change(number, sample["gpus"][uuid])

    return _samples(run, each)


def gpu_errors(run):
    """Return the check's result."""
    return CHECKS["no_gpu_errors"].result(run)


def _message(run):
    result = gpu_errors(open_run(run))
    return result.state, result.message


def _uuids(run):
    return sorted({uuid for site in open_run(run).spec.sites for uuid in site.gpus})


def test_a_run_without_errors_holds_and_its_last_sample_is_cited(run):
    result = gpu_errors(open_run(run))
    assert result.state == "holds"
    assert result.message == f"No error of 2 GPUs in {result.line} samples."


def test_it_does_not_apply_where_no_gpu_was_given(recordings):
    result = gpu_errors(open_run(recordings / "runs" / "pt_ddp-cpu-2"))
    assert (result.state, result.message) == ("not applicable", "The run was given no GPU.")


@pytest.mark.parametrize(
    ("xid", "named"),
    [
        (79, "Xid 79 (GPU has fallen off the bus; restart the host)"),
        (48, "Xid 48 (double bit ECC error; drain the host and reset the GPU)"),
        (999, "Xid 999 (not in our list; look it up in the vendor's catalog)"),
    ],
)
def test_an_xid_is_unproven_with_its_gpu_its_number_and_what_it_means(run, xid, named):
    _gpus(run, lambda number, gpu: gpu.update(xids=[xid] if number in {3, 5} else []), only=1)
    result = gpu_errors(open_run(run))
    assert (result.state, result.message, result.line) == ("unknown", f"{_uuids(run)[1]} had {named}.", 4)


@pytest.mark.parametrize("xid", [43, 63, 92])
def test_an_xid_that_the_vendor_asks_nothing_for_is_no_pass_either(run, xid):
    _gpus(run, lambda number, gpu: gpu.update(xids=[xid] if number == 3 else []))
    state, message = _message(run)
    assert state == "unknown"
    assert f"{_uuids(run)[0]} had Xid {xid} (" in message


def test_a_rise_of_uncorrected_memory_errors_is_unproven(run):
    _gpus(run, lambda number, gpu: gpu.update(ecc_uncorrected=3))
    assert _message(run)[0] == "holds"
    _gpus(run, lambda number, gpu: gpu.update(ecc_uncorrected=3 + 2 * (number > 4)), only=0)
    message = f"{_uuids(run)[0]}'s uncorrected memory errors (ECC) went from 3 to 5 in the run."
    assert _message(run) == ("unknown", message)


def test_a_count_that_ends_is_unproven_and_a_gpu_without_one_is_named(run):
    _gpus(run, lambda number, gpu: gpu.update(ecc_uncorrected=None if number > 4 else 0), only=0)
    assert _message(run)[0] == "unknown"
    assert "went from 0 to unknown" in _message(run)[1]
    _gpus(run, lambda number, gpu: gpu.update(ecc_uncorrected=None), only=0)
    assert _message(run)[0] == "holds"
    assert f"{_uuids(run)[0]} counts no memory errors (ECC)" in _message(run)[1]


def test_nobody_watched_is_unproven(run):
    _gpus(run, lambda number, gpu: gpu.update(xids=None), only=1)
    assert _message(run) == ("unknown", f"Nobody watched {_uuids(run)[1]} for Xid errors.")
    count = _gpus(run, lambda number, gpu: gpu.update(xids=[] if number else None), only=1)
    assert _message(run) == (
        "unknown",
        f"Nobody watched {_uuids(run)[1]} for Xid errors in 1 of {count} samples.",
    )
    (run / "samples.jsonl").unlink()
    state, message = _message(run)
    assert state == "unknown"
    assert "Nobody watched" in message


def test_a_lost_gpu_is_unproven_with_its_xid(run):
    lost = _uuids(run)[0]

    def lose(number, sample):
        if number > 4:
            del sample["gpus"][lost]
            sample["unanswered"] = {lost: [79] if number == 5 else []}

    _samples(run, lose)
    state, message = _message(run)
    assert state == "unknown"
    assert message.startswith(f"{lost} had Xid 79 (GPU has fallen off the bus; restart the host)")
    assert f"{lost} did not answer NVML" in message
