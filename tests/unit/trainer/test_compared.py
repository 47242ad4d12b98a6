# SPDX-License-Identifier: Apache-2.0
"""Which numbers of a result a forward pass alone changes, so that they show no training."""

import sys
from types import SimpleNamespace

import pytest

from rekindle.trainer import comparison

VECTORS = {
    "bn1_nvf_2, bn1_nvf_3": ["bn1_nvf_0", "bn1_nvf_1", "bn1_nvf_2", "bn1_nvf_3"],
    "without_scale_nvf_1, without_scale_nvf_2": [f"without_scale_nvf_{number}" for number in range(3)],
    "batch_normalization_4_nvf_0, batch_normalization_4_nvf_1": [
        "batch_normalization_4_nvf_0",
        "batch_normalization_4_nvf_1",
    ],
    "nested_nvf_10, nested_nvf_9": ["nested_nvf_7", "nested_nvf_8", "nested_nvf_9", "nested_nvf_10"],
    "": ["layer_norm_nvf_0", "layer_norm_nvf_1", "dense_nvf_1", "weight", "bias"],
}


@pytest.mark.parametrize("moving", VECTORS)
def test_moving_means_of_keras_are_found_by_their_shapes_whatever_a_layer_is_called(monkeypatch, moving):
    monkeypatch.setitem(sys.modules, "numpy", SimpleNamespace(ndarray=tuple, generic=tuple))
    vector, matrix = (SimpleNamespace(detach=None, shape=shape) for shape in ((8,), (8, 8)))
    tree = {**dict.fromkeys(VECTORS[moving], vector), "nested_nvf_6": matrix, "nested_nvf_11": matrix}
    assert ", ".join(sorted(name[1:] for name in comparison._of_batch_norm(tree))) == moving
