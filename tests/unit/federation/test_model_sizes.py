# SPDX-License-Identifier: Apache-2.0
"""The bytes of a model's weights, as torch's, NumPy's and Keras' trees have them."""

from types import SimpleNamespace

import pytest

from rekindle.federation import sizes


def array(size):
    return SimpleNamespace(nbytes=size)


@pytest.mark.parametrize(
    ("state", "total", "largest"),
    [
        ({"weight": array(400), "bias": array(8)}, 408, 400),
        ({"layer": [array(4), array(12)], "others": {"a": (array(1),)}}, 17, 12),
        ({"epoch": 3, "name": "x"}, 0, 0),
        ({}, 0, 0),
        (array(7), 7, 7),
    ],
)
def test_all_weights_count_and_the_largest_is_known(state, total, largest):
    assert sizes.measure_model(state) == {"model": total, "tensor": largest}
