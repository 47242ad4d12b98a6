# SPDX-License-Identifier: Apache-2.0
"""Every fault has its verdict, never PASS, and its cause is named; no clean run is anything but a PASS."""

import os
import re

import faults_inside
import faults_outside
import pytest
from clean_runs import LOOKS, REAL, RECORDINGS, SLOW, recorded
from fault_table import NVFLARE_S, Row
from slow_hosts import refusal

from rekindle.judge import judge_run

REFUSED = None if "CI" in os.environ else refusal()
"""Why no host can be made slow here, which a skipped test tells; in CI one has to be, and none is skipped."""
NEEDS_CGROUPS = [pytest.mark.skip(reason=REFUSED)] if REFUSED else []
"""Of runs on a slow host; in CI nothing is refused, so that they fail where no host can be made slow."""


def _by_name(run):
    return run.name.replace(" ", "_")


def _row(run, outcome, kind):
    return Row(
        name=run.name,
        kind=kind,
        injected=outcome.injected,
        expected=run.verdict,
        verdict=outcome.verdict,
        cause_right=bool(re.search(run.cause, outcome.cause)),
        cause=outcome.cause,
        seconds=outcome.seconds if kind == "run" else None,
    )


@pytest.mark.parametrize("run", [*faults_outside.FAULTS, *faults_inside.FAULTS], ids=_by_name)
def test_a_fault_is_detected_and_its_cause_named(run, outcomes, report):
    outcome = outcomes[run.name].result()
    row = _row(run, outcome, "run")
    report(row)
    assert row.injected
    assert row.detected, (outcome.verdict, outcome.cause)
    assert row.cause_right, outcome.cause
    assert outcome.seconds is None or outcome.seconds < NVFLARE_S
    assert bool(outcome.left) is run.leaves, outcome.left


@pytest.mark.parametrize(
    "run", [*REAL, *(pytest.param(run, marks=NEEDS_CGROUPS) for run in SLOW)], ids=_by_name
)
def test_a_clean_run_passes(run, outcomes, report):
    outcome = outcomes[run.name].result()
    report(_row(run, outcome, "clean"))
    assert outcome.injected
    assert re.fullmatch(run.verdict, outcome.verdict), outcome
    assert re.fullmatch(run.cause, outcome.cause), outcome.cause
    assert outcome.left == ()


@pytest.mark.parametrize("looks", LOOKS)
@pytest.mark.parametrize("name", sorted(path.name for path in RECORDINGS.iterdir()))
def test_a_recorded_clean_run_passes(name, looks, tmp_path, report):
    verdict = judge_run(recorded(name, looks, tmp_path))
    report(Row(f"{name}, {looks}", "clean", True, "PASS", verdict.verdict, True, verdict.cause or ""))
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
