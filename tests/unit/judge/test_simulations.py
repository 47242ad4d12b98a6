# SPDX-License-Identifier: Apache-2.0
"""Simulations of two kinds in one run: a claim is of those that leave what it speaks of."""

import shutil
from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced

from rekindle.judge.check import CHECKS, check_simulations
from rekindle.judge.opener import open_run, split_simulations
from rekindle.records import Claim
from rekindle.records.events import TaskEvent

CLAIMS = ("every_site_trained", "every_site_took_part", "rounds_completed", "statistics_complete")


@pytest.fixture
def simulations(example, recordings):
    """Return one run as its two simulations: training, and statistics."""
    evidence = example / "evidence"
    (evidence / "server.jsonl").rename(evidence / "server.hello-numpy.jsonl")
    statistics = recordings / "foreign" / "hello-tabular-stats" / "stats_df"
    shutil.copytree(statistics, example / "job" / "workspace" / "stats_df")
    run = open_run(example)
    proof = tuple(Claim(claim=name) for name in CLAIMS)
    return split_simulations(replace(run, spec=replaced(run.spec, job=replaced(run.spec.job, proof=proof))))


def states(simulations):
    return {result.claim: result.state for result in check_simulations(simulations)[: len(CLAIMS)]}


def test_each_claim_is_of_the_simulations_with_its_workflow(simulations):
    assert states(simulations) == dict.fromkeys(CLAIMS, "holds")


def test_what_one_of_them_lacks_is_not_made_up_for_by_the_other(simulations):
    training, statistics = simulations
    results = [line for line in training.lines if not isinstance(line.event, TaskEvent)]
    assert states([replace(training, lines=results), statistics])["every_site_trained"] == "unknown"


def test_a_claim_on_no_simulation_is_asked_of_all(simulations):
    training, statistics = simulations
    assert states([statistics])["every_site_trained"] == "unknown"
    assert states([training, training])["statistics_complete"] == "unknown"


@pytest.mark.parametrize("kind", ["CrossSiteModelEval", "GlobalModelEval", "EvalController"])
def test_an_evaluation_is_all_that_a_claim_on_its_metrics_is_of(simulations, kind):
    training, statistics = simulations
    server = {"workflows": [{"id": "eval", "path": f"nvflare.{kind}", "args": {}}]}
    evaluation = replace(
        statistics, workspace=replace(statistics.workspace, configurations={"server": server})
    )
    check = CHECKS["cross_validation_complete"]
    assert [check.speaks_of(run) for run in (training, statistics, evaluation)] == [False, False, True]


def test_every_simulation_has_to_be_complete(simulations):
    log = simulations[1].folder / "job/workspace/stats_df/server/log.txt"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if "peer=site-2" not in line))
    assert states(simulations)["every_site_took_part"] == "fails"


def test_of_a_multitude_the_first_are_judged_and_the_rest_is_told(example, monkeypatch):
    monkeypatch.setattr("rekindle.judge.opener._MOST", 2)
    (workspace,) = (example / "job/workspace").iterdir()
    for number in range(3):
        shutil.copytree(workspace, workspace.with_name(f"other-{number}"))
    runs = split_simulations(open_run(example))
    assert len(runs) == 2
    assert "Of 4 simulations the first 2 alone are judged." in runs[0].unread
