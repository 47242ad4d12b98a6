# SPDX-License-Identifier: Apache-2.0
"""A workflow that steps along what sites send, as along gradients, is right if its model gets better."""

import math
import random
from operator import mul
from types import SimpleNamespace

import pytest

from rekindle.judge.checks.metrics import loss_falls
from rekindle.judge.figures import does_improve
from rekindle.judge.means import does_add, find_flaws, find_residue

SITES = ("site-1", "site-2")


def rounds_of(make, count=4, kind="WEIGHTS", sums=8, spread=1):
    """Return rounds in which ``make`` makes the next model of one and of the sites' random results."""
    chance = random.Random(0)
    model, found = [chance.gauss(0, 1) for _ in range(sums)], []
    for _ in range(count):
        results = [[chance.gauss(0, spread) for _ in model] for _ in SITES]
        events = [
            SimpleNamespace(
                site=site, kind=kind, weight=None, relative=None, sent=(*model,), sketch=(*result,)
            )
            for site, result in zip(SITES, results, strict=True)
        ]
        model = [make(*values) for values in zip(model, *results, strict=True)]
        found.append((events, (*model,)))
    return found


def against(model, one, other):
    return model - 0.5 * (0.7 * one + 0.3 * other)


def test_a_model_that_a_sum_of_results_is_added_to_is_known():
    assert does_add(rounds_of(against))


@pytest.mark.parametrize(
    ("what", "rounds"),
    [
        ("the mean of models", rounds_of(lambda model, one, other: (one + other) / 2)),
        ("a model that stays", rounds_of(lambda model, one, other: model)),
        (
            "something of the model goes",
            rounds_of(lambda model, one, other: against(0.9 * model, one, other)),
        ),
        ("they are said to be changes", rounds_of(against, kind="WEIGHT_DIFF")),
        ("as few sums as chance takes", rounds_of(against, sums=3)),
        ("one round", rounds_of(against, count=1)),
        ("none", []),
    ],
)
def test_what_adds_nothing(what, rounds):
    assert not does_add(rounds), what


def test_a_step_away_from_changes_is_a_flaw_unless_sites_report_that_the_model_improves():
    rounds = rounds_of(lambda model, one, other: model - (one + other) / 2, kind="WEIGHT_DIFF")
    assert [*find_flaws(rounds, improves=False)] == ["a step away from the results"]
    assert not [*find_flaws(rounds, improves=True)]


def test_an_optimizer_that_adds_what_it_has_to_subtract_is_a_flaw_if_sites_send_differences():
    def step(model, one, other):
        return model - math.copysign(0.1, one + other)

    assert [*find_flaws(rounds_of(step, kind="WEIGHT_DIFF"), improves=False)] == [
        "a step away from the results"
    ]
    assert not [*find_flaws(rounds_of(step, kind="WEIGHT_DIFF"), improves=True)]


@pytest.mark.parametrize(
    ("others", "named"), [(("b",), "b's result"), (("b", "c"), "the results of b and c")]
)
def test_whoever_does_not_count_is_named(others, named):
    rounds = rounds_of(lambda model, one, other: one)
    for events, model in rounds:
        sent = events[0].sent
        events[1:] = [
            SimpleNamespace(
                site=site, kind="WEIGHTS", weight=None, sent=sent, sketch=model[place:] + model[:place]
            )
            for place, site in enumerate(others, 1)
        ]
        events[0].site = "a"
    assert f"the mean without {named}" in find_flaws(rounds, improves=True)


@pytest.mark.parametrize(
    ("shares", "left_out"),
    [((0.2, 0.5, 0.3, 0.0), "d"), ((0.2, 0.5, 0.25, 0.05), None), ((0.9, 0.06, 0.0, 0.04), "c")],
)
def test_who_does_not_count_is_found_whatever_the_weights_of_the_others(shares, left_out):
    chance, rounds = random.Random(0), []
    for _ in range(3):
        sent, *sketches = ([chance.gauss(0, 1) for _ in range(16)] for _ in range(5))
        events = [
            SimpleNamespace(
                site=site, kind="WEIGHTS", weight=None, relative=None, sent=sent, sketch=(*sketch,)
            )
            for site, sketch in zip("abcd", sketches, strict=True)
        ]
        rounds.append((events, tuple(sum(map(mul, shares, of)) for of in zip(*sketches, strict=True))))
    expected = [f"the mean without {left_out}'s result"] if left_out else []
    assert [flaw for flaw in find_flaws(rounds, improves=True) if "without" in flaw] == expected


@pytest.mark.parametrize("improves", [False, True])
def test_a_model_that_stays_is_a_flaw_whatever_sites_report(improves):
    rounds = rounds_of(lambda model, one, other: model + 1e-9 * one)
    assert [*find_flaws(rounds, improves)] == ["the one before it, whatever sites sent"]


def test_a_model_that_is_made_of_far_larger_results_does_not_stay():
    rounds = rounds_of(lambda model, one, other: (one + other) / math.hypot(one, other), spread=1e6)
    assert not [*find_flaws(rounds, improves=True)]


@pytest.mark.parametrize(
    ("own", "first", "stale"), [(0, 0.5, True), (0.01, 0.5, False), (0.5, 0.5, False), (0.5, 0, False)]
)
def test_a_model_of_earlier_results_alone_is_a_flaw(own, first, stale):
    """As of a moving average that takes the first round's mean in every round."""
    found, mean = [], []

    def step(model, one, other):
        mean.append((one + other) / 2)
        place = len(mean) - 1
        return (1 - own - first) * model + first * mean[place % 16] + own * mean[place]

    found = rounds_of(step, sums=16)
    assert (
        "one of earlier results alone, without those of its own round" in find_flaws(found, True)
    ) == stale


FALLS, TURNS = (2.3, 1.9, 1.5, 1.6, 0.9, 0.4), (2.3, 1.9, 2.2, 1.6, 2.1, 1.7)


@pytest.mark.parametrize(
    ("of_sites", "does"),
    [
        ([{"loss": FALLS}, {"loss": FALLS}], True),
        ([{"accuracy": FALLS[::-1]}, {"accuracy": FALLS[::-1]}], True),
        ([{"loss": TURNS, "accuracy": FALLS[::-1]}, {"loss": FALLS, "accuracy": FALLS[::-1]}], True),
        ([{"loss": FALLS}, {"loss": TURNS}], False),
        ([{"loss": FALLS[::-1]}, {"loss": FALLS[::-1]}], False),
        ([{"loss": (1.0, 0.99, 0.98, 0.97)}, {"loss": (1.0, 0.99, 0.98, 0.97)}], False),
        ([{"loss": FALLS[3:]}, {"loss": FALLS[3:]}], False),
        ([{"loss": (math.nan,) * 5}, {"loss": (math.nan,) * 5}], False),
        ([{"kl": FALLS}, {"kl": FALLS}], False),
        ([{}, {}], False),
    ],
    ids=[
        *("losses", "scores", "scores beside a loss", "one site alone", "worse", "hardly", "three rounds"),
        *("not a number", "neither", "nothing"),
    ],
)
def test_what_sites_report_shows_whether_the_model_improves(of_sites, does):
    assert does_improve(run_that_reports(of_sites)) == does


def run_that_reports(of_sites, converged=()):
    results = [
        SimpleNamespace(
            event=SimpleNamespace(site=site, round=number, time=number, metrics={name: value}, relative=None)
        )
        for site, figures in zip(SITES, of_sites, strict=True)
        for name, values in figures.items()
        for number, value in enumerate(values)
    ]
    return SimpleNamespace(
        training=SimpleNamespace(results=results, models=[], converged=converged), find=lambda kind: []
    )


@pytest.mark.parametrize(
    ("of_sites", "converged", "seen"),
    [
        ([{"acc": [0.9133] * 4}, {"acc": [0.92] * 4}], (), True),
        ([{"acc": [0.91] * 3}, {"acc": [0.91] * 3}], (), True),
        ([{"acc": [0.91] * 3}, {"acc": [0.92] * 3}], (), False),
        ([{"acc": [0.91] * 4}, {"acc": [0.92] * 3 + [0.93]}], (), False),
        ([{"acc": [1.0] * 4}, {"acc": [0.92] * 4}], (), False),
        ([{"acc": [0.91] * 4}, {"acc": [0.92] * 4}], (2, 3), False),
        ([{"acc": [0.91] * 4, "loss": [0.4, 0.3, 0.2, 0.1]}, {"acc": [0.92] * 4}], (), False),
        ([{}, {}], (), False),
    ],
    ids=["each its own", "all one", "too few", "one moves", "the best", "a fixed point", "a loss", "none"],
)
def test_scores_that_never_move_are_seen(of_sites, converged, seen):
    found = [result.message for result in loss_falls(run_that_reports(of_sites, converged))]
    assert any("to the last digit" in message for message in found) == seen


@pytest.mark.parametrize(
    ("masks", "weights", "rest"),
    [
        ((5.0, -5.0), (3, 1), 0.5),
        ((5.0, -5.0), (2, 2), 0.0),
        ((5.0, -4.0), (3, 1), 0.0),  # as noise
        ((0.0, 0.0), (3, 1), 0.0),
    ],
)
def test_masks_that_cancel_in_the_sum_alone_are_left_in_a_mean_by_weights(masks, weights, rest):
    ((results, _),) = rounds_of(lambda *_: 0.0, count=1)
    made = {event.site: event.sketch for event in results}
    for event, mask, weight in zip(results, masks, weights, strict=True):
        event.weight, event.sketch = weight, tuple(value + mask for value in event.sketch)
    assert find_residue(results, made) == pytest.approx(rest, abs=1e-9)
    assert find_residue(results, {}) == 0


@pytest.mark.parametrize(("relative", "improves", "flaws"), [(1e5, True, 0), (1e5, False, 1), (1.1, True, 1)])
def test_a_sum_of_masked_results_over_their_counts_is_no_multiple_of_their_mean(relative, improves, flaws):
    rounds = rounds_of(lambda _, one, other: 7e-4 * (one + other), spread=1e5)
    for events, _ in rounds:
        for event in events:
            event.kept, event.relative = None, relative
    found = [flaw for flaw in find_flaws(rounds, improves) if "times the mean of the results" in flaw]
    assert len(found) == flaws
