# SPDX-License-Identifier: Apache-2.0
"""A global model that goes to and fro, as where what training changed is taken for the model."""

import math
from types import SimpleNamespace

import pytest

from rekindle.judge.means import find_swing

SITES = ("site-1", "site-2")
AIM = (-0.9, -0.5, -1.2)


def rounds_of(learn, count=4, kind="WEIGHTS"):
    """Return rounds in which ``learn`` makes the next model of one, value by value."""
    model, found = (0.0, 0.0, 0.0), []
    for number in range(count):
        following = tuple(learn(value, aim, number) for value, aim in zip(model, AIM, strict=True))
        way = {"kind": kind, "moved": math.dist(model, following), "norm": math.hypot(*following)}
        found.append(([SimpleNamespace(site=site, sent=model, **way) for site in SITES], following))
        model = following
    return found


def change_alone(value, aim, number):
    return 0.95 * (aim - value)


def test_changes_that_are_taken_for_the_model_swing():
    assert find_swing(rounds_of(change_alone))


@pytest.mark.parametrize(
    ("what", "rounds"),
    [
        ("training goes on", rounds_of(lambda value, aim, number: value + 0.5 * (aim - value))),
        ("it ends at once", rounds_of(lambda value, aim, number: aim)),
        ("it is near its end", rounds_of(lambda value, aim, number: aim * (1 + 0.1 * (-1) ** number))),
        ("it turns once", rounds_of(lambda value, aim, number: aim if number != 2 else 0.0)),
        ("two rounds", rounds_of(change_alone, count=2)),
        ("they are said to be changes", rounds_of(change_alone, kind="WEIGHT_DIFF")),
        ("there is none", []),
    ],
)
def test_what_does_not_swing(what, rounds):
    assert not find_swing(rounds), what


def test_rounds_of_sites_in_turns_are_no_swing():
    rounds = rounds_of(change_alone)
    for number, (events, _) in enumerate(rounds):
        del events[number % 2]
    assert not find_swing(rounds)


def test_steps_whose_sums_alone_turn_are_no_swing():
    """A sketch has eight sums, and their signs may turn by chance in a model that hardly does."""
    rounds = rounds_of(change_alone)
    for event in (event for events, _ in rounds[1:] for event in events):
        event.norm = 3 * event.moved
    assert not find_swing(rounds)
