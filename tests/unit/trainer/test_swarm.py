# SPDX-License-Identifier: Apache-2.0
"""What our component at a site of swarm learning records, whichever of them aggregates."""

import sys
from types import SimpleNamespace

import pytest

import rekindle.trainer  # noqa: F401 - before its modules have stand-ins

NAMES = SimpleNamespace(
    AFTER_TASK_EXECUTION="executed",
    GLOBAL_MODEL="model",
    ROUND_STARTED="round started",
    AFTER_CONTRIBUTION_ACCEPT="accepted",
    AGGREGATION_ACCEPTED="is accepted",
    CURRENT_ROUND="round",
    TRAINING_RESULT="result",
    EXECUTOR_FINALIZED="finalized",
    EXECUTOR="executor",
)


class Witness:
    """In place of the one at the server, whose own test is beside this one."""

    def __init__(self, components):
        self._recorder, self._sent, self._rounds, self.results = "server", {}, {}, []

    def _record_result(self, sender, task, result):
        self.results.append((sender, task, result, self._rounds.pop(sender), self._sent.pop(sender)))


@pytest.fixture
def witness(component, monkeypatch):
    """Return the component, beside stand-ins of ours and of NVFlare's, and what it writes."""
    written = []
    ours = {
        "arrays": {
            "select_floating": dict,
            "sketch_model": lambda weights: {},
            "sketch_weights": lambda weights: weights,
        },
        "evidence": {
            "name_server": lambda: "server",
            "Evidence": lambda name: _Evidence(name, written),
            "record_error": _raise,
        },
        "exchange": {
            "TRAINS": "train",
            "read_global_weights": lambda context: context.weights,
            "read_peer": lambda context: context.peer,
        },
        "tasks": {"TaskWitness": Witness, "digest_names": sorted},
    }
    for name, has in ours.items():
        monkeypatch.setitem(sys.modules, f"rekindle.trainer.{name}", SimpleNamespace(**has))
    nvflare = {
        "apis.event_type": {"EventType": NAMES},
        "apis.fl_context": {"FLContext": object},
        "app_common.abstract.model": {"ModelLearnableKey": SimpleNamespace(WEIGHTS="weights")},
        "app_common.app_constant": {"AppConstants": NAMES},
        "app_common.app_event_type": {"AppEventType": NAMES},
        "app_common.ccwf.common": {"Constant": NAMES},
    }
    return component("rekindle.trainer.swarm", nvflare).SwarmWitness({}), written


class _Evidence:
    def __init__(self, name, written):
        self._name, self._written = name, written

    def model(self, *_, **__):
        self._written.append((self._name, "first"))

    def global_model(self, number, model, names):
        self._written.append((self._name, number, model, names))


def _raise(error, *_):
    raise error


def context(peer="site-2", weights=None, **props):
    """Return a context of site-1, of a message of ``peer``."""
    get_prop = {name.replace("_", " "): value for name, value in props.items()}.get
    return SimpleNamespace(peer=peer, weights=weights, get_prop=get_prop, get_identity_name=lambda: "site-1")


def load(witness):
    witness.handle_event("executed", context(weights={"w": 0.0}, model="loaded"))


def begin(witness, number, weights):
    witness.handle_event("round started", context(weights=weights, round=number))


def test_rounds_and_the_last_aggregate_are_recorded_by_the_names_of_the_persistors_model(witness):
    witness, written = witness
    witness.handle_event("executed", context())
    load(witness)
    begin(witness, 0, {"w": 1.0})
    begin(witness, 1, {"w": 2.0, "counter": 56.0})
    last = SimpleNamespace(last_round=1, last_result={"weights": {"w": 3.0}})
    witness.handle_event("finalized", context(executor=last))
    file = "site-1.server"
    models = [(number, {"w": number + 1.0}, ["w"]) for number in range(3)]
    assert written == [(file, "first"), *((file, *model) for model in models)]


def test_a_result_is_compared_with_the_model_before_trainers_here_alter_it(witness):
    witness, _ = witness
    weights = {"w": [1.0]}
    begin(witness, 4, weights)
    weights["w"][0] = 9.0
    for accepted in (True, False):
        witness.handle_event("accepted", context(is_accepted=accepted, round=4, result="theirs"))
    assert witness.results == [("site-2", "train", "theirs", 4, {"w": [1.0]})]


def test_a_site_that_joins_later_and_aggregates_nothing_records_no_first_and_last_model(witness):
    witness, written = witness
    load(witness)
    begin(witness, 3, {"w": 1.0, "counter": 56.0})
    witness.handle_event("finalized", context(executor=SimpleNamespace(last_result=None)))
    assert written == [("site-1.server", 3, {"w": 1.0}, ["w"])]
