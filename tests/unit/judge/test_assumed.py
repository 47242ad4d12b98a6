# SPDX-License-Identifier: Apache-2.0
"""Sizes that nobody said and no file of a job shows: the run tells."""

import json

import pytest

from rekindle.judge import judge_run
from rekindle.judge.opener import open_run


def _state(run, claim):
    return next(result.state for result in judge_run(run).evidence if result.claim == claim)


@pytest.mark.parametrize(("assumed", "state"), [([], "fails"), (["rounds"], "holds")])
def test_rounds_are_compared_only_with_what_somebody_said(clean_run, assumed, state):
    spec = json.loads((clean_run / "spec.json").read_text())
    spec["job"] |= {"rounds": spec["job"]["rounds"] + 1, "assumed": assumed}
    (clean_run / "spec.json").write_text(json.dumps(spec))
    assert _state(clean_run, "rounds_completed") == state


@pytest.mark.parametrize(("assumed", "names"), [([], ["site-1"]), (["sites"], ["site-1", "site-2"])])
def test_sites_are_as_many_as_the_job_announced_if_nobody_said_how_many(clean_run, assumed, names):
    spec = json.loads((clean_run / "spec.json").read_text())
    spec["sites"] = spec["sites"][:1]
    spec["job"] |= {"sites": 1, "assumed": assumed}
    (clean_run / "spec.json").write_text(json.dumps(spec))
    assert [site.name for site in open_run(clean_run).spec.sites] == names
