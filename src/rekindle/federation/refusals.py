# SPDX-License-Identifier: Apache-2.0
"""Why a site's result of training cannot be aggregated; no framework is imported."""

from typing import Any, NamedTuple

from rekindle.trainer.arrays import count_infinite, select_floating


class Leaf(NamedTuple):
    """An array or a tensor of a model that was sent."""

    shape: tuple[int, ...]
    infinite: int
    """How many of its numbers are not finite, as in a mask of attention."""


def read_leaves(tree: Any) -> dict[str, Leaf]:
    """Return the arrays and tensors of floating-point numbers in a tree of weights, by path."""
    return {
        name: Leaf(tuple(leaf.shape), count_infinite(leaf)) for name, leaf in select_floating(tree).items()
    }


def find_result_flaw(tree: Any, sent: dict[str, Leaf]) -> str | None:
    """Return why a result cannot be aggregated, one clause; None if nothing is wrong with it.

    Args:
        tree: its weights, or their differences from those that were sent.
        sent: the model that was sent; names that are not in it are not compared.
    """
    got = read_leaves(tree)
    for name, leaf in got.items():
        if name in sent and leaf.shape != sent[name].shape:
            return f"{name[1:]} has the shape {leaf.shape}, and {sent[name].shape} was sent"
    for name, leaf in got.items():
        if leaf.infinite > (sent[name].infinite if name in sent else 0):
            return f"{name[1:]} has numbers that are not finite"
    return None
