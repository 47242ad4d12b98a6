# SPDX-License-Identifier: Apache-2.0
"""Whether a result is overdue, by how long rounds took before."""

import pytest
from samples.results import make_result

from rekindle.driver.results import RoundResults


@pytest.fixture
def results():
    return RoundResults(rounds=4, silence_s=60)


def _rounds(results, count, seconds, sites=("a", "b")):
    for number in range(count):
        for site in sites:
            results.take(make_result(site, number), seconds * (number + 1))


def test_it_is_after_a_few_times_the_longest_round(results):
    _rounds(results, 3, 100)
    assert results.find_overdue(800) is None
    assert (
        results.find_overdue(801) == "No site has sent a result for 501 s; no round before took over 100 s."
    )


def test_short_rounds_have_minutes(results):
    _rounds(results, 2, 1)
    assert results.find_overdue(242) is None
    assert results.find_overdue(243).startswith("No site has sent a result for 241 s")


@pytest.mark.parametrize("count", [0, 1])
def test_before_the_second_round_nobody_knows(results, count):
    _rounds(results, count, 1)
    assert results.find_overdue(9_999) is None


def test_after_the_last_round_there_is_no_more(results):
    _rounds(results, 4, 1)
    assert results.find_overdue(9_999) is None


def test_one_that_is_missing_in_the_last_round_is_overdue(results):
    _rounds(results, 3, 1)
    results.take(make_result("a", 3), 4)
    assert results.find_overdue(300) is not None


def test_a_workflow_of_no_rounds_owes_none(results):
    for number in range(3):
        results.take(make_result("a", None, task="validate"), number)
    assert results.find_overdue(9_999) is None
