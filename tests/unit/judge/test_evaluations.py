# SPDX-License-Identifier: Apache-2.0
"""FedEvalRecipe's workflow writes no metrics down: those that the server got of each site count."""

import json

import pytest
from samples.edits import events, replaced, result_of

from rekindle.judge import judge_run

CONFIG = "job/workspace/hello-numpy/server/simulate_job/app_server/config/config_fed_server.json"


@pytest.mark.parametrize(
    ("metrics", "state", "says"),
    [
        (
            {"site-1": {"accuracy": 0.5}, "site-2": {"accuracy": 0.6}},
            "holds",
            "2 sites each evaluated eval_ckpt.",
        ),
        (
            {"site-1": {"accuracy": 0.5}, "site-2": {}},
            "fails",
            "site-2 did not evaluate the model eval_ckpt.",
        ),
        (
            {"site-1": {"accuracy": None}, "site-2": {"accuracy": 0.6}},
            "fails",
            "site-1 reported no finite metric",
        ),
        ({}, "unknown", "No cross_val_results.json is there"),
    ],
)
def test_a_model_is_evaluated_by_what_sites_answer(example, metrics, state, says):
    replaced(CONFIG, r"nvflare\.app_common\.workflows\.fedavg\.FedAvg", "fedeval.EvalController")(example)
    spec = json.loads((example / "spec.json").read_text())
    spec["job"]["proof"] = [{"claim": "cross_validation_complete", "options": {}}]
    (example / "spec.json").write_text(json.dumps(spec))

    def answer(event):
        if event["event"] != "task" or not metrics:
            return event
        return {**event, "task": "validate", "kind": "METRICS", "metrics": metrics[event["site"]]}

    events(example / "evidence/server.jsonl", answer)
    result = result_of(judge_run(example), "cross_validation_complete")
    assert result.state == state
    assert says in result.message
