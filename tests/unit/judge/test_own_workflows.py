# SPDX-License-Identifier: Apache-2.0
"""A workflow of a user's own is judged by what the server had of its sites."""

import shutil

import pytest
from recorded_edits import events, replaced, result_of

from rekindle.judge import judge_run

SERVER = "job/workspace/hello-numpy/server/simulate_job"


@pytest.fixture
def run(recordings, tmp_path):
    """Return a recorded run with sketches of its models, whose workflow has a class that nobody knows."""
    folder = shutil.copytree(recordings / "examples" / "hello-numpy", tmp_path / "run")
    config = f"{SERVER}/app_server/config/config_fed_server.json"
    replaced(config, r"nvflare\.app_common\.workflows\.fedavg\.FedAvg", "own.Own")(folder)
    events(folder / "evidence/server.jsonl", lambda event: {**event, "sketch": [event["time"]]})
    return folder


def test_its_rounds_are_those_in_which_every_site_sent_a_model(run):
    result = result_of(judge_run(run), "rounds_completed")
    assert result.state == "holds"
    assert "A model of every site was received in 3 rounds of Own." in result.message


def test_a_round_without_a_sites_model_is_unknown(run):
    replaced("evidence/server.jsonl", r'("site": "site-2", "task": )"train"', r'\1"other"')(run)
    assert result_of(judge_run(run), "rounds_completed").state == "unknown"


def test_sites_that_are_not_known_are_unknown(run):
    for meta in run.rglob("meta.json"):
        meta.unlink()
    assert result_of(judge_run(run), "rounds_completed").state == "unknown"
