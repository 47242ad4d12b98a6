# SPDX-License-Identifier: Apache-2.0
"""Sites make a model of few values many times larger: which of them were sent the same one is still seen."""

import dataclasses

import pytest
from samples.results import make_result, record_events

from rekindle.judge.checks.ancestry import results_come_from_the_global_model
from rekindle.judge.opener import open_run

FACTORISED = ((0.186, 5.86), (0.180, 5.89), (0.183, 5.87))
"""What three sites keep of two factors of 60 x 8, and how much larger they make them: 150 steps, NumPy."""
BY_STEPS = ((0.769, 1.46), (0.175, 11.78), (0.194, 11.40))
"""The same from smaller factors by 20, 300 and 100 steps."""
OWN = (-0.019, 5.89)
"""Of a site that begins with factors of its own."""


@pytest.fixture
def found(clean_run):
    """Return what the check finds of a first round of such results."""
    run = open_run(clean_run)

    def judged(*results):
        events = (
            make_result(
                f"site-{number}",
                0,
                kept=kept,
                relative=relative,
                sketch=(float(number), 1.0),
                sent=(0.1, 0.1),
            )
            for number, (kept, relative) in enumerate(results, 1)
        )
        lines = record_events(events)
        results = results_come_from_the_global_model(dataclasses.replace(run, lines=lines))
        return [result for result in results if "first result" in result.message]

    return judged


@pytest.mark.parametrize("results", [FACTORISED, BY_STEPS])
def test_sites_that_begin_with_the_model_are_alike(found, results):
    assert found(*results) == []


def test_a_site_that_begins_with_a_model_of_its_own_is_named(found):
    (result,) = found(FACTORISED[0], OWN, FACTORISED[2])
    assert result.state == "unknown"
    assert result.message == (
        "site-2's first result has nothing of the model that it was sent (correlation 0.019), "
        "and all others have (at least 0.183): it may train a model of its own."
    )


def test_sites_that_all_keep_little_are_not_told_apart(found):
    assert found((0.100, 9.0), OWN, (0.110, 9.0)) == []
