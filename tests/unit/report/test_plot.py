# SPDX-License-Identifier: Apache-2.0
"""The plot's coordinates: inside the box, in order, with round ticks."""

import pytest

from rekindle.report.plot import BOTTOM, LEFT, RIGHT, TOP, make_plot


@pytest.mark.parametrize(
    "values",
    [[0], [0, 0], [0.966], [1, 0.5, 0.1], [-3, 7], [-5, -2], [1e-9, 2e-9], [5e-324], [1e99, -1e99]],
)
def test_points_and_ticks_lie_in_the_box(values):
    drawn = make_plot("t", "x", "y", {"a": list(enumerate(values))})
    assert drawn
    points = drawn.series[0].points
    assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for x, y in points)
    assert all(TOP <= at <= BOTTOM for at, _ in drawn.y_ticks)
    assert (drawn.y_ticks[0][0], drawn.y_ticks[-1][0]) == (BOTTOM, TOP)
    assert 2 <= len(drawn.y_ticks) <= 8


def test_more_is_higher_and_later_is_further_right_from_zero_on():
    drawn = make_plot("t", "x", "y", {"a": [(1, 0.96), (0, 0.9)]})
    (x0, y0), (x1, y1) = drawn.series[0].points
    assert x0 < x1
    assert y0 > y1
    assert drawn.y_ticks[0] == (BOTTOM, "0")


def test_ticks_are_round_and_few():
    drawn = make_plot("t", "x", "y", {"a": [(n, n / 100) for n in range(100)]})
    assert [label for _, label in drawn.y_ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert 2 <= len(drawn.x_ticks) <= 8


@pytest.mark.parametrize("series", [{}, {"a": []}, {"a": [(0, 1e308), (1, -1e308)]}])
def test_what_cannot_be_drawn_is_none(series):
    assert make_plot("t", "x", "y", series) is None
