# SPDX-License-Identifier: Apache-2.0
"""Where a trainer takes nothing of a model that it gets is recorded, with the line of the job's code."""

import json
import sys
from types import SimpleNamespace

import pytest

from rekindle.trainer import loads


class Module:
    """Like torch's, with the names ``a`` and ``b``."""

    def load_state_dict(self, state_dict, strict=True):
        unexpected = [name for name in state_dict if name not in {"a", "b"}]
        if strict and unexpected:
            raise RuntimeError(unexpected)
        return SimpleNamespace(unexpected_keys=unexpected)


class Model:
    """Like NVFlare's FLModel."""

    def __init__(self, number):
        self.params, self.current_round = {"a": number}, number


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """Return what runs a job's script with such modules watched, and returns what was recorded."""
    torch = SimpleNamespace(Module=type("Watched", (Module,), {}))
    torch.Module.load_state_dict = Module.load_state_dict
    loads.watch_loads(torch)
    monkeypatch.setenv("REKINDLE_WORKSPACE", str(tmp_path / "job/workspace"))
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path))
    models = [Model(number) for number in range(4)]
    client = SimpleNamespace(get_site_name=lambda: "site-2", receive=lambda: models[0] if models else None)
    client.send = lambda model: None
    received = loads.Received()
    loads.watch_receipts(client, received.receive)
    loads.watch_sends(client, received.send)
    monkeypatch.setitem(sys.modules, "nvflare.client.api", client)

    def run(script, folder="job"):
        path = tmp_path / folder / "client.py"
        exec(compile(script, path, "exec"), {"model": torch.Module(), "flare": client, "models": models})
        found = tmp_path / "site-2.server.jsonl"
        lines = found.read_text().splitlines() if found.exists() else []
        return [(one["site"], one["place"], one["right"]) for one in map(json.loads, lines)]

    return run


LOOP = "for state in ({}):\n    model.load_state_dict(state, strict=False)"


@pytest.mark.parametrize(
    ("script", "recorded"),
    [
        ("model.load_state_dict({'m.a': 1}, strict=False)", [("site-2", "client.py:1", False)]),
        (LOOP.format("{'m.a': 1}, {'m.b': 1}"), [("site-2", "client.py:2", False)]),
        (
            LOOP.format("{'m.a': 1}, {'a': 1}, {'m.a': 1}"),
            [("site-2", "client.py:2", False), ("site-2", "client.py:2", True)],
        ),
        (LOOP.format("{'a': 1}, {'m.a': 1}"), []),
        (LOOP.format("{'a': 1, 'head': 1}, {'b': 1}"), []),
        (LOOP.format("{}, {}"), []),
        ("model.load_state_dict({'a': 1})", []),
    ],
)
def test_a_load_that_takes_nothing_is_recorded_once_for_its_line(trainer, script, recorded):
    assert trainer(script) == recorded


ROUNDS = "while received := flare.receive():\n    {}\n    models.pop(0)"


@pytest.mark.parametrize(
    ("use", "right"),
    [
        ("print(received.current_round)", [False]),
        ("received.params = {'b': 1}", [False]),
        ("flare.receive().params", []),
        ("dict(received.params)", []),
        ("__import__('copy').deepcopy(received).params", []),
        ("__import__('pickle').dumps(received)", []),
        ("received.current_round and received.params", [False, True]),
    ],
)
def test_models_that_no_one_reads_are_recorded(trainer, use, right):
    assert trainer(ROUNDS.format(use)) == [("site-2", "client.py:1", each) for each in right]


@pytest.mark.parametrize(
    ("reads", "right"),
    [
        ("received.current_round < 1", [False]),
        ("received.current_round != 1", []),
        ("received.current_round in (0, 3)", [False, True]),
        ("received.current_round > 1", [False, True]),
        ("True", []),
    ],
)
@pytest.mark.parametrize("sends", [True, False])
def test_a_trainer_takes_each_model_but_one_at_a_time(trainer, reads, right, sends):
    use = f"{reads} and received.params" + ("; flare.send(model)" if sends else "")
    script = f"{ROUNDS.format(use)}\nflare.receive()"
    assert trainer(script) == [("site-2", "client.py:1", each) for each in right]


def test_a_line_whose_last_model_is_read_took_it(trainer):
    script = "while models[1:]:\n    received = flare.receive()\n    models.pop(0)\nreceived.params"
    assert trainer(script) == [("site-2", "client.py:2", False), ("site-2", "client.py:2", True)]


def test_a_received_model_is_what_it_was(trainer):
    trainer(
        "received = flare.receive()\nassert isinstance(received, type(models[1]))\n"
        "assert (type(received).__name__, received.params) == ('Model', {'a': 0})\n"
        "assert type(received) is type(models[1])\n"
        "received.params = 5\nassert received.params == 5"
    )


def test_a_received_model_can_be_pickled(trainer):
    trainer(
        "import pickle\nreceived = pickle.loads(pickle.dumps(flare.receive()))\n"
        "assert type(received) is type(models[1])\nassert vars(received) == vars(models[0])"
    )


def test_a_library_s_own_loads_are_not(trainer):
    assert trainer("model.load_state_dict({'m.a': 1}, strict=False)", folder="lib") == []


def test_what_cannot_be_recorded_hinders_no_load(trainer, monkeypatch):
    monkeypatch.delitem(sys.modules, "nvflare.client.api")
    assert trainer("assert model.load_state_dict({'x': 1}, strict=False).unexpected_keys == ['x']") == []
    with pytest.raises(RuntimeError, match="'x'"):
        trainer("model.load_state_dict({'x': 1})")
