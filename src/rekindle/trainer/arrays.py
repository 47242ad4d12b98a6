"""The numbers in what NVFlare exchanges and saves: arrays and tensors, whatever their framework is.

No framework is imported, and NumPy at the first use.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every array, tensor, number and text of bytes in ``tree``, by its path there."""
    import numpy as np  # noqa: PLC0415 - the server of a job that exchanges none may have none

    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from leaves(value, f"{name}/{key}")
    elif isinstance(tree, (list, tuple)):
        for number, value in enumerate(tree):
            yield from leaves(value, f"{name}/{number}")
    elif isinstance(tree, (bytes, bytearray)):
        yield name, bytes(tree)
    elif hasattr(tree, "detach") or (isinstance(tree, np.ndarray) and tree.dtype.kind in "fiu"):
        yield name, tree
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield name, np.asarray(float(tree))


def array(leaf: Any) -> Any:
    """Return a leaf that is not bytes as NumPy's array."""
    return leaf.detach().cpu().float().numpy() if hasattr(leaf, "detach") else leaf


def model(tree: Any) -> dict[str, Any]:
    """Return what a ModelEvent says of a model's weights: of its floating-point numbers, as float32.

    What else there is counts batches, or is the state of a generator of random numbers, and is not exchanged.
    """
    import numpy as np  # noqa: PLC0415 - as above

    values, squares, digests = 0, 0.0, []
    for _, leaf in leaves(tree):
        if isinstance(leaf, bytes) or "float" not in str(leaf.dtype) or not math.prod(leaf.shape):
            continue
        numbers = np.ascontiguousarray(array(leaf), dtype=np.float32).reshape(-1)
        values += numbers.size
        squares += float(np.square(numbers, dtype=np.float64).sum())
        digests.append(hashlib.sha256(numbers).digest())
    return {
        "values": values,
        "finite": math.isfinite(squares) if values else None,
        "norm": math.sqrt(squares) if math.isfinite(squares) else None,
        "digest": hashlib.sha256(b"".join(sorted(digests))).hexdigest() if values else None,
    }
