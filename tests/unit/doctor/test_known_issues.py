"""Known issues: what they excuse, until when, and what happens when they are gone."""

import json

import pytest
from recorded_edits import edit

from rekindle.doctor.catalogue import catalogue
from rekindle.doctor.known_issues import known_issue, known_issues
from rekindle.judge import judge
from rekindle.records import RunSpec, read

SAID = "--quantize_mode blockwise8 needs CUDA in NVFlare's server and clients, which see no GPU"


@pytest.fixture
def quantised(clean_run):
    """Return a run that asks for blockwise8, and passed."""
    spec = json.loads((clean_run / "spec.json").read_text())
    spec["job"]["arguments"]["quantize_mode"] = "blockwise8"
    spec["versions"]["nvflare"] = "2.7.3"
    (clean_run / "spec.json").write_text(json.dumps(spec))
    return clean_run


def _fail(run):
    (run / "job.log").write_text(SAID + "\n")
    edit(run / "ended.json", r'("exit_status": )\d+', r"\g<1>1")


def test_every_issue_is_about_an_entry_and_real_versions():
    names = {entry.name for entry in catalogue()}
    assert known_issues()
    assert all(issue.entry in names and issue.versions and issue.source for issue in known_issues())


def test_a_run_that_fails_as_known_is_a_known_issue(quantised):
    _fail(quantised)
    verdict = judge(quantised)
    assert (verdict.verdict, verdict.known_issue) == ("KNOWN_ISSUE", "quantisation_needs_cuda")
    assert verdict.cause.endswith(f"Known until {known_issues()[0].expires}: {known_issues()[0].says}")


def test_one_that_fails_otherwise_is_not(quantised):
    edit(quantised / "ended.json", r'("exit_status": )\d+', r"\g<1>1")
    assert judge(quantised).verdict == "FAIL"


def test_an_expired_one_excuses_nothing_and_says_so(quantised):
    _fail(quantised)
    edit(quantised / "ended.json", r'("started": )"[^"]+"', rf'\1"{known_issues()[0].expires}T00:00:00Z"')
    verdict = judge(quantised)
    assert verdict.verdict == "FAIL"
    assert verdict.cause.endswith(f"expired on {known_issues()[0].expires} and excuses nothing.")


def test_a_run_that_passes_in_spite_of_it_names_it(quantised, clean_run):
    verdict = judge(quantised)
    assert (verdict.verdict, verdict.known_issue) == ("PASS", "quantisation_needs_cuda")


@pytest.mark.parametrize("change", [{"nvflare": "2.8.0"}, {"quantize_mode": "float16"}, {"nvflare": None}])
def test_other_versions_and_arguments_do_not_have_it(quantised, change):
    spec = json.loads((quantised / "spec.json").read_text())
    if "nvflare" in change:
        spec["versions"]["nvflare"] = change["nvflare"]
        spec["versions"] = {name: version for name, version in spec["versions"].items() if version}
    else:
        spec["job"]["arguments"] |= change
    (quantised / "spec.json").write_text(json.dumps(spec))
    assert known_issue(read(quantised / "spec.json", RunSpec)) is None
