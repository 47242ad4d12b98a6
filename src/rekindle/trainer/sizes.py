"""The bytes of what NVFlare exchanges, of any framework; none is imported."""

from collections.abc import Mapping
from typing import Any


def of_state(state: Any) -> dict[str, int]:
    """Return the bytes of all tensors or arrays in a tree of weights, and of the largest of them."""
    found, parts = [0], [state]
    while parts:
        part = parts.pop()
        if isinstance(part, (Mapping, list, tuple)):
            parts.extend(part.values() if isinstance(part, Mapping) else part)
        else:
            found.append(int(getattr(part, "nbytes", 0)))
    return {"model_bytes": sum(found), "largest_bytes": max(found)}
