# SPDX-License-Identifier: Apache-2.0
"""Why a site's result of training cannot be aggregated; no framework is imported."""

from typing import Any

from rekindle.trainer.arrays import select_floating


def read_shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of arrays and tensors of floating-point numbers in a tree of weights, by path."""
    return {name: tuple(leaf.shape) for name, leaf in select_floating(tree).items()}


def find_result_flaw(tree: Any, sent: dict[str, tuple[int, ...]]) -> str | None:
    """Return why a result cannot be aggregated, one clause; None if nothing is wrong with it.

    Args:
        tree: its weights, or their differences from those that were sent.
        sent: shapes of the model that was sent; names that are not in it are not compared.
    """
    import numpy as np  # noqa: PLC0415 - as in arrays

    for name, shape in read_shapes(tree).items():
        if shape != sent.get(name, shape):
            return f"{name[1:]} has the shape {shape}, and {sent[name]} was sent"
    for name, leaf in select_floating(tree).items():
        if not (leaf.isfinite() if hasattr(leaf, "isfinite") else np.isfinite(leaf)).all():
            return f"{name[1:]} has numbers that are not finite"
    return None
