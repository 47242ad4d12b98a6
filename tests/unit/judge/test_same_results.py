# SPDX-License-Identifier: Apache-2.0
"""Two sites send the same weights: as with the same data, or as a copy."""

from dataclasses import replace

import pytest
from samples.results import make_result, record_events

from rekindle.judge.check import CHECKS
from rekindle.judge.opener import open_run


@pytest.fixture
def judged(clean_run):
    """Return how the check ends with such metrics of each of two sites, by rounds."""
    run = open_run(clean_run)

    def judged(*rounds):
        events = [
            make_result(site, number, sketch=(number + 1.0, 4.0), sent=(float(number), 7.0), metrics=metrics)
            for number, both in enumerate(rounds)
            for site, metrics in zip(("site-1", "site-2"), both, strict=True)
        ]
        return CHECKS["results_are_their_own"].result(replace(run, lines=record_events(events)))

    return judged


@pytest.mark.parametrize("name", ["loss", "pinball", "auc"])
def test_the_same_figures_show_the_same_data(judged, name):
    result = judged(({name: 0.5312817263}, {name: 0.5312817263}), ({name: 0.5}, {name: 0.5}))
    assert result.state == "holds"
    assert result.message.startswith("site-2 and site-1 sent the same weights and metrics in round 0")


@pytest.mark.parametrize(
    "both",
    [
        ({}, {}),
        ({"accuracy": 0.96875}, {"accuracy": 0.96875}),  # of 32 samples: others have it by chance
        ({"accuracy": 0.933333337306976}, {"accuracy": 0.933333337306976}),
        ({"pinball": 0.5312817263}, {"pinball": 0.7123981723}),
        ({"loss": None}, {"loss": None}),
    ],
)
def test_weights_alone_may_be_a_copy(judged, both):
    assert judged(both).state == "unknown"
