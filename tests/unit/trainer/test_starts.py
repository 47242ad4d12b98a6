# SPDX-License-Identifier: Apache-2.0
"""Whether the steps of a trainer begin from the model that it got last, or from one of its own."""

import json
import sys
from types import SimpleNamespace

import pytest

from rekindle.trainer import loads, starts


class Array:
    """As much of a tensor as is asked: numbers in a row."""

    dtype = "float32"

    def __init__(self, numbers):
        self.numbers = [*numbers]
        self.shape = (len(self.numbers),)

    def __len__(self):
        return len(self.numbers)

    def reshape(self, size):
        return self

    def detach(self):
        return self

    def __getitem__(self, part):
        return Array(self.numbers[part])

    def tolist(self):
        return self.numbers

    def new_tensor(self, values, device):
        return Array(map(float, values))


class Optimizer:
    """Like torch's."""

    def __init__(self, *arrays, grad=True, rates=(0.1,)):
        for array in arrays:
            array.grad = array if grad else None
        each = len(arrays) // len(rates)
        self.param_groups = [
            {"params": arrays[each * number : each * (number + 1)], "lr": rate}
            for number, rate in enumerate(rates)
        ]


def model(*arrays):
    return SimpleNamespace(params={str(number): Array(array) for number, array in enumerate(arrays)})


@pytest.fixture
def rounds(tmp_path, monkeypatch):
    """Return what has a trainer get, step from and send models, round by round; and what was recorded."""
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path))
    monkeypatch.setattr(starts, "find_line", lambda: "client.py:5")
    monkeypatch.setitem(sys.modules, "numpy", SimpleNamespace(ndarray=(), generic=()))
    client = SimpleNamespace(get_site_name=lambda: "site-2", receive=None, send=lambda model: None)
    monkeypatch.setitem(sys.modules, "nvflare.client.api", client)
    hooks, noted = [], starts.Starts()
    made = type("Made", (Optimizer,), {})
    kinds = ("register_optimizer_step_pre_hook", "register_optimizer_step_post_hook")
    starts.watch_steps(SimpleNamespace(**dict.fromkeys(kinds, hooks.append), Optimizer=made), noted)

    def run(*exchanges, times=1, unused=()):
        kept = [made(*map(Array, arrays)) for arrays in unused]
        got = iter([model for exchange in exchanges for model in [exchange[0]] * times])
        client.receive = lambda: next(got, None)
        loads.watch_receipts(client, noted.receive)
        loads.watch_sends(client, noted.send)
        for _, optimizers, sent in exchanges:
            for _ in range(times):
                client.receive()
            for optimizer in optimizers:
                for hook in hooks:
                    hook(optimizer, (), {})
            client.send(sent)
        assert len(kept) == len(unused)
        found = tmp_path / "site-2.server.jsonl"
        lines = found.read_text().splitlines() if found.exists() else []
        return [(one["place"], one["right"], one["by"]) for one in map(json.loads, lines)]

    return run


A, B, C, D, E = ([float(start + number) for number in range(40)] for start in range(5))
OWN, TAKEN = ("client.py:5", False, "steps"), ("client.py:5", True, "steps")


def steps(*arrays, **options):
    return [Optimizer(*map(Array, arrays), **options)]


SLOW, LEARNS = ("client.py:5", False, "rates"), ("client.py:5", True, "rates")


@pytest.mark.parametrize(
    ("first", "second", "recorded"),
    [
        ((0.0, 0.0, 0.1), (0.0, 0.0, 0.1), [SLOW]),
        ((0.0, 0.1, 0.1), (0.0, 0.1, 0.1), []),
        ((0.0, 0.0, 0.0), (0.1, 0.0, 0.1), [SLOW, LEARNS]),
    ],
    ids=["most of it", "a layer", "at first"],
)
def test_a_learning_rate_of_zero_for_most_of_a_model_is_recorded(rounds, first, second, recorded):
    first, second = steps(A, B, C, rates=first), steps(D, B, C, rates=second)
    assert (
        rounds((model(A, B, C), first, model(D, B, C)), (model(D, B, C), second, model(E, B, C))) == recorded
    )


VAIN, WORKS = ("client.py:5", False, "vain"), ("client.py:5", True, "vain")


@pytest.mark.parametrize(
    ("first", "second", "recorded"),
    [
        (steps(A) + steps(B, grad=False), steps(C) + steps(B, grad=False), [VAIN]),
        (steps(A) + steps(B, grad=False), steps(C) + steps(B), [VAIN, WORKS]),
        (steps(A) + steps(B), steps(C) + steps(B, grad=False), []),
        (steps(A) + steps(grad=False), steps(C), []),
    ],
    ids=["never", "later", "at first", "without parameters"],
)
def test_an_optimizer_that_never_has_a_gradient_is_recorded(rounds, first, second, recorded):
    assert rounds((model(A, B), first, model(C, B)), (model(C, B), second, model(D, B))) == recorded


@pytest.mark.parametrize(
    ("second", "third", "recorded"),
    [
        (steps(C), steps(E), []),
        (steps(B), steps(D), [OWN]),
        (steps(B), steps(E), [OWN, TAKEN]),
        (steps(A), steps(A), [OWN]),
        (steps(B) + steps(C), steps(D) + steps(E), []),
        (steps([0.5 * each for each in range(40)]), steps([0.25 * each for each in range(40)]), []),
        (steps(B, grad=False), steps(D, grad=False), []),
        (steps(B[:9]), steps(D[:9]), []),
        ([], [], []),
    ],
    ids=[
        "the model that it got",
        "what it sent last",
        "its own once",
        "one file in each round",
        "a model of its own, and then the one that it got",
        "something else, such as a mixture",
        "frozen",
        "another shape",
        "no optimizer",
    ],
)
def test_steps_from_weights_of_its_own_are_recorded(rounds, second, third, recorded):
    first = (model(A), steps(A), model(B))
    assert rounds(first, (model(C), second, model(D)), (model(E), third, model(A))) == recorded


@pytest.mark.parametrize(
    ("got", "optimizers", "sent", "recorded"),
    [
        (A, [], model(B), [("client.py:5", False, "idles")]),
        (A, steps(A), model(B), []),
        (C, [], model(B), []),
        (A, [], SimpleNamespace(params=None), []),
        (A, [], SimpleNamespace(params=model(B).params, params_type="DIFF"), []),
    ],
    ids=[
        "none steps",
        "one steps",
        "changed by hand",
        "nothing sent",
        "a difference, which a gradient may be",
    ],
)
def test_gradients_that_nothing_applies_are_recorded(rounds, got, optimizers, sent, recorded):
    assert rounds((model(got), optimizers, sent), unused=[(A,)]) == recorded


SQUARES = [0.25 * number**2 for number in range(40)]
CHANGED = [square - start for square, start in zip(SQUARES, A, strict=True)]


@pytest.mark.parametrize(
    ("sent", "recorded"),
    [
        (model(CHANGED), [("client.py:5", False, "changes")]),
        (model(SQUARES), []),
        (SimpleNamespace(params=model(CHANGED).params, params_type="DIFF"), []),
        (model([0.5 * each for each in CHANGED]), []),
        (model(CHANGED[:9]), []),
    ],
    ids=["the change", "the model", "the change, as one", "something else", "another shape"],
)
def test_a_change_that_is_sent_as_the_whole_model_is_recorded(rounds, sent, recorded):
    """The optimizer's arrays are trained in place, after its first step was seen."""
    assert rounds((model(A), steps(SQUARES), sent)) == recorded


def test_a_layer_that_nobody_trains_shows_nothing(rounds):
    """It is the same in the model that it got and in its own."""
    same, zeros = A[5:30], [0.0] * 12
    first = (model(A, same, zeros), steps(A, same, zeros), model(B, same, zeros))
    assert rounds(first, (model(C, same, zeros), steps(B, same, zeros), model(D))) == [OWN]
    assert rounds(first, (model(C, same, zeros), steps(same, zeros), model(D))) == [OWN, TAKEN][:1]


def test_layers_of_one_shape_that_are_trained_in_turn_are_not_its_own(rounds):
    """The second is still what the site sent in the round before, and what it got."""
    first, second = A[:20], E[20:]
    trained = (model(C[:20], second), steps(second), model(C[:20], D[20:]))
    assert rounds((model(first, second), steps(first), model(B[:20], second)), trained) == []


@pytest.mark.parametrize(("times", "recorded"), [(49, []), (50, [False, True]), (200, [False, True])])
def test_a_model_that_is_got_for_ever_is_recorded_until_something_is_sent(rounds, times, recorded):
    found = rounds((model(A), [], model(B)), times=times)
    assert found == [("client.py:5", right, "turns") for right in recorded]


def test_what_cannot_be_seen_hinders_no_trainer(rounds):
    assert rounds((model(A), [None], None), (None, [object()], object())) == []
