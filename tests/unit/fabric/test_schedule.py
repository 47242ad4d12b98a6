# SPDX-License-Identifier: Apache-2.0
"""Steps of a survey: each host is in one group at a time, and meets each other one once."""

from itertools import combinations

import pytest

from rekindle.fabric.schedule import cut_group, list_rounds, match_pairs, order_pair


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 31, 256])
def test_each_host_meets_each_other_one_once(count):
    hosts = [f"h{number:03}" for number in range(count)]
    steps = list(list_rounds(hosts))
    assert len(steps) == (count - 1 if count % 2 == 0 else count)
    for step in steps:
        members = [host for pair in step for host in pair]
        assert len(members) == len(set(members))
    assert sorted(pair for step in steps for pair in step) == list(combinations(hosts, 2))


def test_nobody_meets_nobody():
    assert list(list_rounds(["one"])) == list(list_rounds([])) == []


def test_pairs_that_share_a_host_are_measured_one_after_the_other():
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("d", "e")]
    assert match_pairs(pairs) == [[("a", "b"), ("d", "e")], [("a", "c")], [("b", "c")]]


def test_halves_have_all_hosts():
    assert cut_group("abcde") == ("ab", "cde")
    assert order_pair("b", "a") == order_pair("a", "b") == ("a", "b")
