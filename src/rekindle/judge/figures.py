# SPDX-License-Identifier: Apache-2.0
"""What sites report of their models: which metrics are losses and scores, and whether they get better."""

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

from .run import Run

_LOSS = "loss"
"""Ends the name of a loss, and of parts of it, as ``kl_loss``."""
_ERRORS = {
    *(_LOSS, "brier", "cer", "deviance", "ece", "eer", "err", "error", "fid", "logloss", "mae", "mape"),
    *("mse", "msle", "nll", "nmse", "nrmse", "perplexity", "ppl", "rmse", "rmsle", "smape", "wape", "wer"),
}
"""Words with which the name of a metric ends that is better if it is lower."""
_TURNED = {"inv", "inverse", "minus", "neg", "negated", "negative"}
"""Words before one that turn it."""
_STAGES = {
    *("train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "total", "final"),
    *("mean", "avg", "average", "global", "local", "epoch", "round", "running", "batch", "step"),
}
"""Words beside it in the name of a complete loss: of what, and over what."""
_SCORES = {
    *("acc", "accuracy", "auc", "auprc", "auroc", "dice", "explained", "f1", "iou", "jaccard"),
    *("kappa", "mcc", "ndcg", "precision", "psnr", "r2", "recall", "return", "reward", "score"),
    *("sensitivity", "specificity", "ssim"),
}
"""Words in the name of a metric that is better if it is higher."""
_COUNTED, _EXACT = 1000, 1e-7
"""Of a share, as an accuracy is: of how many it may be, and how close to it its number is."""
_BETTER, _MOSTLY, _LEAST = 1.25, 0.85, 4
"""Of figures that get better: last by first, pairs of rounds of which the later is better, and rounds."""


def list_series(run: Run, is_one: Callable[[str], bool]) -> dict[tuple[str, str], list[float]]:
    """Return each such metric that a site reported, by site and name, in the order of rounds."""
    found: dict[tuple[str, str], list[float]] = {}
    for line in sorted(run.training.results, key=lambda line: (line.event.round or 0, line.event.time)):
        for name, value in line.event.metrics.items():
            if is_one(name) and value is not None:
                found.setdefault((line.event.site, name), []).append(value)
    return found


def is_score(name: str) -> bool:
    """Whether a metric is better if it is higher."""
    return not _SCORES.isdisjoint(re.split(r"[^a-z0-9]+", name.lower()))


def is_error(name: str) -> bool:
    """Whether a metric is better if it is lower, by the name that such a measure has."""
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    return not _ERRORS.isdisjoint(words[-1:]) and _TURNED.isdisjoint(words)


def is_loss(name: str) -> bool:
    """Whether a metric is a complete loss, which falls where a model learns; a part of one may rise."""
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    return words[-1:] == [_LOSS] and _STAGES.issuperset(words[:-1])


def is_measured(name: str, value: float | None) -> bool:
    """Whether a figure is of a site's own data: a loss, or no simple share, as chance may give two sites."""
    if value is None or is_loss(name):
        return value is not None
    return abs(float(Fraction(value).limit_denominator(_COUNTED)) - value) > _EXACT


def does_improve(run: Run) -> bool:
    """Return whether every site's losses, errors or scores get clearly better over the rounds."""
    falling = [
        [[1 / value if value > 0 else 0.0 for value in one] for one in list_series(run, is_one).values()]
        for is_one in (is_loss, is_error)
    ]
    return any(
        bool(series) and all(map(_rises, series))
        for series in (*falling, [*list_series(run, is_score).values()])
    )


def _rises(values: list[float]) -> bool:
    pairs = [*combinations(values, 2)]
    rising = sum(later > earlier for earlier, later in pairs)
    return len(values) >= _LEAST and values[-1] > _BETTER * values[0] and rising >= _MOSTLY * len(pairs)
