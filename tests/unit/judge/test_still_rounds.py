# SPDX-License-Identifier: Apache-2.0
"""A last round in which sites only measure the model: they send it back as it is, or nothing new."""

from dataclasses import replace

import pytest
from samples.results import make_result, record_events

from rekindle.judge.check import CHECKS
from rekindle.judge.opener import open_run
from rekindle.records.events import GlobalEvent

COUNTS = {1: (8.0, 2.0), 2: (2.0, 10.0)}
SUMS = (10.0, 12.0)
SERVER = {
    "workflows": [
        {"id": "controller", "path": "workflows.ScatterAndGather", "args": {"aggregator_id": "aggregator"}}
    ],
    "components": [{"id": "aggregator", "path": "counts.Sums", "args": {}}],
}


def result(site, number, sent, sketch):
    """Return a site's result of a round, which changed the model if it is not as it was sent."""
    moved = 0.0 if sent == sketch else 9.0
    fields = {"moved": moved, "trained": moved, "sketch": sketch, "sent": sent, "metrics": {"accuracy": 0.9}}
    return make_result(f"site-{site}", number, **fields)


@pytest.fixture
def judged(clean_run):
    """Return how a check ends with counts that sites sent in round 0, and results of theirs in round 1."""
    run = open_run(clean_run)
    run = replace(run, workspace=replace(run.workspace, configurations={"server": SERVER}))

    def judged(check, measured):
        events = [result(site, 0, (), counts) for site, counts in COUNTS.items()]
        events += [result(site, 1, SUMS, sketch) for site, sketch in measured.items()]
        events += [GlobalEvent(time=float(number), round=number, sketch=SUMS) for number in (1, 2)]
        return CHECKS[check].result(replace(run, lines=record_events(events))).state

    return judged


def test_a_model_that_all_sites_send_back_stays(judged):
    assert judged("global_model_is_the_mean", dict.fromkeys(COUNTS, SUMS)) == "holds"
    assert judged("every_site_trained", dict.fromkeys(COUNTS, SUMS)) == "holds"


def test_a_model_that_stays_though_a_site_trained_is_a_failure(judged):
    assert judged("global_model_is_the_mean", {1: SUMS, 2: (14.0, 12.0)}) == "fails"


TREES = {
    "sketch": (),
    "sent": (),
    "moved": None,
    "trained": None,
    "kept": None,
    "alike": None,
    "relative": None,
}


@pytest.mark.parametrize(
    ("grown", "metrics", "state"),
    [
        ((9.0, 0.0), {"accuracy": 0.9}, "holds"),
        ((9.0, 0.0), {}, "unknown"),
        ((0.0, 0.0), {"auc": 1.0}, "unknown"),
    ],
)
def test_no_new_trees_are_right_where_earlier_ones_are_measured(clean_run, grown, metrics, state):
    results = [
        make_result(f"site-{site}", number, **TREES, norm=norm, metrics=metrics)
        for number, norm in enumerate(grown)
        for site in COUNTS
    ]
    run = replace(open_run(clean_run), lines=record_events(results))
    assert CHECKS["every_site_trained"].result(run).state == state


BYTES = {**TREES, "values": 0, "norm": None, "finite": None, "weight": None}


@pytest.mark.parametrize(
    ("sizes", "scores", "state"),
    [
        ((90, 80, 70, 75, 0), (0.1, 0.5, 0.6, 0.7, 0.8), "holds"),
        ((90, 80, 70, 75), (0.1, 0.5, 0.6, 0.7), "holds"),
        ((90, 90, 90, 90), (0.1, 0.5, 0.6, 0.7), "unknown"),
        ((90, 80, 70, 75), (0.5, 0.5, 0.6, 0.5), "unknown"),
        ((90, 80, 70, 75), (None, None, None, None), "unknown"),
        ((90, 80, 0, 75), (0.1, 0.5, None, 0.7), "fails"),
    ],
)
def test_trees_as_bytes_are_judged_by_what_they_predict(clean_run, sizes, scores, state):
    results = [
        make_result(
            f"site-{site}", number, **BYTES, bytes=size, metrics={} if score is None else {"auc": score}
        )
        for number, (size, score) in enumerate(zip(sizes, scores, strict=True))
        for site in COUNTS
    ]
    run = replace(open_run(clean_run), lines=record_events(results))
    assert CHECKS["every_site_trained"].result(run).state == state


def test_differences_that_are_compared_with_nothing_add_up_to_nothing(clean_run):
    fields = {"kind": "WEIGHT_DIFF", "sent": (), "sketch": (1.0, 2.0), "moved": None, "metrics": {}}
    results = [make_result(f"site-{site}", number, **fields) for number in range(3) for site in COUNTS]
    run = replace(open_run(clean_run), lines=record_events(results))
    assert CHECKS["global_model_changes"].result(run).state == "holds"
