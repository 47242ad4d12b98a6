# SPDX-License-Identifier: Apache-2.0
"""Which metrics are better if they are lower, by their names."""

import pytest

from rekindle.judge.figures import is_error


@pytest.mark.parametrize(
    "name",
    ["loss", "val_rmse", "RMSE", "mean_absolute_error", "test/mae", "Perplexity", "kl_loss", "word_wer"],
)
def test_errors_are_better_if_they_are_lower(name):
    assert is_error(name)


@pytest.mark.parametrize(
    "name",
    ["neg_rmse", "negative_mse", "accuracy", "error_reduction", "inverse_mae", "mse_improvement", "r2", "-"],
)
def test_others_are_not(name):
    assert not is_error(name)
