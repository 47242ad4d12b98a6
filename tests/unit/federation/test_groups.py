# SPDX-License-Identifier: Apache-2.0
"""The groups of a federation, and what is wrong with them."""

import pytest

from rekindle.settings import find_group_mistakes

ONE = {"flare_server": ["cpu-1"], "flare_sites": ["gpu-1", "gpu-2"]}


def test_a_server_and_sites_are_a_federation():
    assert find_group_mistakes(ONE, ["federate"]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flare_server": []}, "The group flare_server has no host, and"),
        ({"flare_server": ["a", "b"]}, "The group flare_server has a, b, and a federation has one server."),
        ({"flare_sites": []}, "The group flare_sites has no host"),
        ({"flare_sites": ["cpu-1", "gpu-1"]}, "cpu-1 is in flare_server and in flare_sites."),
        ({"flare_sites": ["a.b", "a-b"]}, "The sites a.b and a-b are both a-b to NVFlare."),
    ],
)
def test_a_mistake_is_one_sentence(change, message):
    (sentence,) = find_group_mistakes(ONE | change, ["federate"])
    assert sentence.startswith(message)
    assert " Fix: " in sentence
