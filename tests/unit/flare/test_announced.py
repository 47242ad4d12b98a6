# SPDX-License-Identifier: Apache-2.0
"""What a job announced: sites, workflows, and rounds where its configuration leaves them out."""

import json

import pytest

from rekindle.flare import configuration
from rekindle.flare.workspace import Member, Workspace


@pytest.fixture
def configured(tmp_path):
    """Return a function that gives the workflows of a configuration."""

    def workflows(*configured):
        path = tmp_path / "server/config/config_fed_server.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"workflows": configured}))
        return configuration.read_workflows(Workspace(tmp_path, {"server": Member(tmp_path / "server")}))

    return workflows


def _flow(path, **arguments):
    return {"id": "one", "path": path, "args": arguments}


@pytest.mark.parametrize(
    ("flow", "rounds", "tasks"),
    [
        (_flow("nvflare.app_common.workflows.fedavg.FedAvg"), 5, {"train": 5}),
        (_flow("nvflare.app_common.workflows.fedavg.FedAvg", num_rounds=2), 2, {"train": 2}),
        (_flow("a.ScatterAndGather", train_task_name="fit"), 5, {"fit": 5}),
        (_flow("a.CyclicController", num_rounds=3), 3, {"train": 3}),
        (_flow("a.FedAvg", num_rounds="many"), None, {"train": 1}),
        (_flow("a.FedAvg", num_rounds=True), None, {"train": 1}),
        (_flow("a.StatisticsController"), None, {"fed_stats": 2}),
        (_flow("server.KM"), None, {"train": 2}),
        (_flow("server_he.KM_HE"), None, {"train": 3}),
        (_flow("a.FlowerController", num_rounds=1), None, {"config": 1, "start": 1}),
        (_flow("a.CrossSiteModelEval"), None, {"submit_model": 1, "validate": None}),
        (_flow("a.CrossSiteModelEval", submit_model_task_name=""), None, {"validate": None}),
        (_flow("own.Ring"), None, {}),
        (_flow("own.Ring", num_rounds=4), 4, {}),
    ],
)
def test_rounds_and_tasks_are_the_configurations_or_the_classs_defaults(configured, flow, rounds, tasks):
    (found,) = configured(flow)
    assert (found.rounds, found.tasks()) == (rounds, tasks)


def test_several_workflows_come_in_their_order_and_other_shapes_are_left_out(configured):
    found = configured(1, _flow("a.FedAvg"), [], {}, {"path": 3}, _flow("b.CrossSiteModelEval"))
    assert [workflow.kind for workflow in found] == ["FedAvg", "CrossSiteModelEval"]
    assert configured({"path": "a.FedAvg", "args": [1]}) == []


def test_fewer_sites_may_be_sampled(configured):
    (found,) = configured(_flow("a.FedAvg", num_clients=2))
    assert (
        found.count_sampled(3),
        found.count_sampled(1),
        configured(_flow("a.FedAvg"))[0].count_sampled(3),
    ) == (
        2,
        1,
        3,
    )


PIPE = [{"id": "pipe"}]


@pytest.mark.parametrize(
    ("config", "launched"),
    [
        ({"components": [*PIPE, {"id": "launcher"}]}, True),
        ({"executors": [{"executor": {"args": {"command": ["torchrun", "client.py"]}}}]}, True),
        ({"executors": [{"executor": {"args": {"task_script_path": "c"}}}], "components": PIPE}, False),
        ({"components": "launcher", "executors": [7, {"executor": None}, {"executor": {"args": 1}}]}, False),
    ],
)
def test_a_client_that_launches_its_trainers_is_configured_so(tmp_path, config, launched):
    path = tmp_path / "site-1/config/config_fed_client.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(config))
    found = Workspace(tmp_path, {"site-1": Member(tmp_path / "site-1")})
    assert configuration.does_launch(found, "site-1") is launched
