# SPDX-License-Identifier: Apache-2.0
"""Known issues: what they excuse, and until when."""

import pytest
from msgspec.structs import replace
from samples.edits import edit, json_in

from rekindle.doctor.catalogue import load_catalogue
from rekindle.judge import judge_run
from rekindle.judge.known_issues import find_known_issue, load_known_issues
from rekindle.records import RunSpec, read_record

LINE = "--quantize_mode blockwise8 needs CUDA in NVFlare's server and clients, which see no GPU"


@pytest.fixture
def quantised(clean_run):
    """Return a run that asks for blockwise8, and passed."""
    with json_in(clean_run / "spec.json") as spec:
        spec["job"]["arguments"]["quantize_mode"] = "blockwise8"
        spec["versions"]["nvflare"] = "2.7.3"
    return clean_run


def test_every_issue_is_about_an_entry_and_real_versions():
    names = {entry.name for entry in load_catalogue()}
    assert load_known_issues()
    assert all(issue.entry in names and issue.versions and issue.source for issue in load_known_issues())


def _judged(run):
    verdict = judge_run(run)
    return verdict.verdict, verdict.known_issue, verdict.cause


def test_a_run_that_fails_as_known_is_a_known_issue_and_one_that_passes_names_it(golden, quantised):
    passed = _judged(quantised)
    assert passed[:2] == ("PASS", "quantisation_needs_cuda")
    edit(quantised / "ended.json", r'("exit_status": )\d+', r"\g<1>1")
    assert judge_run(quantised).verdict == "FAIL"  # otherwise than as known
    (quantised / "job.log").write_text(LINE + "\n")
    known = _judged(quantised)
    assert known[:2] == ("KNOWN_ISSUE", "quantisation_needs_cuda")
    edit(
        quantised / "ended.json", r'("started": )"[^"]+"', rf'\1"{load_known_issues()[0].expires}T00:00:00Z"'
    )
    expired = _judged(quantised)
    assert expired[0] == "FAIL"
    golden(known[2], expired[2])


@pytest.mark.parametrize(
    "change",
    [{"versions": {"nvflare": "2.8.0"}}, {"versions": {}}, {"arguments": {"quantize_mode": "float16"}}],
)
def test_other_versions_and_arguments_do_not_have_it(quantised, change):
    spec = read_record(quantised / "spec.json", RunSpec)
    assert find_known_issue(spec)
    job = replace(spec.job, **change) if "arguments" in change else spec.job
    versions = change.get("versions", spec.versions)
    assert find_known_issue(replace(spec, job=job, versions=versions)) is None
