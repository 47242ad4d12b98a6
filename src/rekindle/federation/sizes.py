# SPDX-License-Identifier: Apache-2.0
"""How large a model a federation's links can carry, and how long they take; no framework is imported."""

from collections.abc import Mapping, Sequence
from typing import Any

_REQUEST_BYTES = 2 << 20
"""Smaller tensors are asked for together (source: NVFlare 2.9's decomposers.py)."""
_SETTLE_S = 3.0
"""For both directions: the task is fetched, the answer is packed. Measured with 2.9.0: 0.4 to 2.8 s each."""


def foretell_round(ways: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> str:
    """Return a sentence on a model and a round with it.

    Args:
        ways: the spec's, of each site.
        sizes: bytes of the ``model`` and of its largest ``tensor``.
    """
    message = (
        f"The model has {sizes['model'] / 1e6:.1f} MB, its largest tensor {sizes['tensor'] / 1e6:.1f} MB."
    )
    if not ways:
        return message
    seconds, site = max((estimate_seconds(way, sizes), way["site"]) for way in ways)
    return f"{message} A round's transfers take {seconds:.1f} s, by {site}'s link."


def estimate_seconds(way: Mapping[str, Any], sizes: Mapping[str, int]) -> float:
    """Return the seconds of a round's transfers over a site's link, down and up."""
    requests = sizes["model"] / max(sizes["tensor"], _REQUEST_BYTES)
    return float(way["byte_s"] * sizes["model"] + way["request_s"] * requests + _SETTLE_S)


def find_excess(bound: Mapping[str, Any] | None, sizes: Mapping[str, int]) -> str | None:
    """Return why a model cannot be exchanged, with the fix; None if it can."""
    size = sizes["tensor"]
    if bound is None or size <= bound["bytes"]:
        return None
    return f"The largest tensor of the model has {size / 1e6:.0f} MB; {bound['why']} Fix: {bound['fix']}"


def measure_model(tree: Any) -> dict[str, int]:
    """Return the bytes of all tensors or arrays in a tree of weights, and of the largest."""
    found, parts = [0], [tree]
    while parts:
        part = parts.pop()
        if isinstance(part, (Mapping, list, tuple)):
            parts.extend(part.values() if isinstance(part, Mapping) else part)
        else:
            found.append(int(getattr(part, "nbytes", 0)))
    return {"model": sum(found), "tensor": max(found)}
