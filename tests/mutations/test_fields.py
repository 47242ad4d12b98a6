# SPDX-License-Identifier: Apache-2.0
"""No wrong value of a field, and no part of a run that is missing, ends the judge or makes a PASS."""

import pytest
from mutation_fields import altered, fields
from mutation_runs import RECORDINGS, RunCopy

from rekindle.judge import CHECKS, judge_run
from rekindle.records import RunEnd
from rekindle.records.events import TaskEvent

FIELDS = {(kind, field.name): field for kind, field in fields()}


@pytest.mark.parametrize("place", FIELDS, ids=".".join)
def test_a_wrong_value_ends_no_judge(bench, runs_for, place):
    kind, name = place
    for recording, rng in runs_for(".".join(place), RECORDINGS):
        run = RunCopy(recording)
        for way in altered(run, kind, name, rng):
            verdict = bench.judge(recording, run.changes())
            if way == "missing" and FIELDS[place].required:
                assert verdict is None or verdict.verdict != "PASS"
        assert not run.changes()


def _passed(folder):
    return {result.claim for result in judge_run(folder).evidence if result.state == "holds"}


PASSED = {name: _passed(folder) for name, folder in RECORDINGS.items()}


@pytest.mark.parametrize("name", sorted(name for name in set().union(*PASSED.values()) if CHECKS[name].needs))
def test_without_a_part_that_a_check_needs_it_is_unknown(bench, runs_for, name):
    check = CHECKS[name]
    for need in set(check.needs) - {RunEnd}:  # without its file: test_damage_in_files.py
        for recording, _ in runs_for(name, [run for run, passed in PASSED.items() if name in passed]):
            run = RunCopy(recording)
            kinds = {"task", "contribution"} if need is TaskEvent else {need.__struct_config__.tag}
            run.without(*kinds)
            verdict = bench.judge(recording, run.changes())
            states = {result.claim: result.state for result in verdict.evidence}
            assert verdict.verdict != "PASS"
            assert states[name] == "unknown"
