# SPDX-License-Identifier: Apache-2.0
"""What our component at the server compares a result with, whatever others there do with what was sent."""

import math
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest


@pytest.fixture
def tasks(component, monkeypatch):
    """Return the component's module, with as much of NVFlare and numpy as it takes."""
    nvflare = {
        "apis.event_type": {
            "EventType": SimpleNamespace(
                BEFORE_TASK_DATA_FILTER="before data",
                AFTER_TASK_DATA_FILTER="after data",
                BEFORE_TASK_RESULT_FILTER="before result",
                AFTER_TASK_RESULT_FILTER="after result",
            )
        },
        "apis.fl_component": {"FLComponent": object},
        "apis.fl_constant": {
            "FLContextKey": SimpleNamespace(TASK_DATA="data", TASK_RESULT="result", TASK_NAME="name"),
            "FLMetaKey": object,
        },
        "apis.fl_context": {"FLContext": object},
        "apis.shareable": {"Shareable": dict},
        "app_common.abstract.model": {"ModelLearnableKey": object},
        "app_common.app_constant": {"AppConstants": SimpleNamespace(CURRENT_ROUND="round")},
        "app_common.app_event_type": {
            "AppEventType": SimpleNamespace(AFTER_SHAREABLE_TO_LEARNABLE="aggregated")
        },
    }
    monkeypatch.setitem(sys.modules, "numpy", SimpleNamespace(asarray=float, ndarray=tuple, generic=tuple))
    component("rekindle.trainer.exchange", nvflare)
    module = component("rekindle.trainer.tasks", {})
    monkeypatch.setattr(module, "record_error", lambda error: pytest.fail(str(error)))
    return module


class Task(dict):
    """A task of round 2, or the result of one."""

    def get_header(self, name):
        return {"round": 2}[name]


def context(numbers):
    """Return the context of a task of site-1 that carries ``numbers``."""
    peer, task = SimpleNamespace(get_identity_name=lambda: "site-1"), Task(DXO={"data": numbers})
    return SimpleNamespace(get_peer_context=lambda: peer, get_prop=lambda _: task)


@pytest.mark.parametrize(
    ("after", "compared"),
    [({"w": 2.0}, {"w": 2.0}), ({}, {"w": 1.0})],
    ids=["with what a filter made of it", "with what a streamer then took out of it"],
)
def test_a_result_is_compared_with_what_its_site_was_sent(tasks, after, compared):
    witness = tasks.TaskWitness({})
    witness.handle_event("before data", context({"w": 1.0}))
    witness.handle_event("after data", context(after))
    assert witness._sent == {"site-1": compared}
    assert witness._rounds == {"site-1": 2}


@pytest.mark.parametrize(("kind", "when"), [("int8", "after result"), ("float32", "before result")])
def test_a_result_of_integers_is_recorded_as_the_servers_filters_leave_it(tasks, monkeypatch, kind, when):
    seen = []
    monkeypatch.setattr(tasks.TaskWitness, "_take", lambda self, of: seen.append(event))
    leaf = SimpleNamespace(detach=None, dtype=kind, shape=(2,))
    witness = tasks.TaskWitness({})
    for event in ("before result", "after result"):
        witness.handle_event(event, context({"w": leaf}))
    assert seen == [when]


def module(trains, *buffers):
    """Return what is of a module of PyTorch's, with one parameter and buffers of these names."""
    parameters = [("w", SimpleNamespace(requires_grad=trains))]
    return SimpleNamespace(
        named_parameters=lambda: parameters, named_buffers=lambda: [(name, None) for name in buffers]
    )


@pytest.mark.parametrize(
    ("models", "buffers"),
    [
        ([module(True, "m", "t")], {"m", "t"}),
        ([module(False, "centers")], set()),
        ([module(True, "m"), module(True, "w")], {"m"}),
        ([{"path": "Net"}, None], set()),
    ],
    ids=["a module", "nothing but buffers to train", "what another module trains", "not built yet"],
)
def test_the_buffers_of_a_components_model_are_no_weights(tasks, models, buffers):
    assert tasks.find_buffers([*(SimpleNamespace(model=model) for model in models), object()]) == buffers


@pytest.fixture
def written(tasks, monkeypatch):
    """Return what is recorded last; what is compared is the result alone."""
    found = {}
    monkeypatch.setattr(tasks, "Evidence", lambda _: SimpleNamespace(write=lambda _, **of: found.update(of)))
    monkeypatch.setattr(tasks, "compare_result", lambda _, got, *__, **___: Compared(got))
    monkeypatch.setattr(tasks, "digest_names", len)
    monkeypatch.setattr(tasks, "sketch_weights", len)
    monkeypatch.setattr(tasks, "FLMetaKey", SimpleNamespace(NUM_STEPS_CURRENT_ROUND="steps"))
    return found


def take(tasks, sent, dxo):
    """Have a witness see a task and its result."""
    witness = tasks.TaskWitness({})
    witness.handle_event("before data", context(sent))
    result = Task(DXO=dxo)
    result.get_return_code = lambda: "OK"
    witness._record_result("site-1", "train", result)


@pytest.mark.parametrize(
    ("sent", "metrics", "recorded"),
    [
        ({}, {"accuracy": 0.5}, ("METRICS", {"accuracy": 0.5})),
        ({"w": 1.0}, {"accuracy": 0.5}, ("WEIGHTS", {})),
        ({}, {}, ("WEIGHTS", {})),
    ],
    ids=["no model is there", "a model was sent", "nothing is there"],
)
def test_metrics_that_answer_a_task_without_a_model_are_the_result(tasks, written, sent, metrics, recorded):
    take(tasks, sent, {"kind": "WEIGHTS", "data": {}, "meta": {"initial_metrics": metrics}})
    assert (written["kind"], written["got"]) == recorded


def test_metrics_are_recorded_and_only_those_that_are_finite_are_the_result(tasks, written):
    take(tasks, {"w": 1.0}, {"kind": "METRICS", "data": {"auc": math.inf, "accuracy": 0.5, "model": "best"}})
    assert (written["got"], written["metrics"]) == ({"accuracy": 0.5}, {"auc": math.inf, "accuracy": 0.5})


class Compared(NamedTuple):
    """What is compared, in place of the figures."""

    got: dict
