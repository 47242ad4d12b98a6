# SPDX-License-Identifier: Apache-2.0
"""The numbers in what NVFlare exchanges and saves, and what identifies them, of any framework.

A tree of weights is what NVFlare exchanges: arrays or tensors by name, or Keras' lists of arrays by layer.
For a fingerprint its leaves of floating-point numbers are taken in the order of their names, each as float32,
so that a trainer's weights and the server's have the same. No framework is imported, NumPy at the first use.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

BUFFER = re.compile(r"(?:running_(?:mean|var)|num_batches_tracked|moving_(?:mean|variance))$")
"""Names of what a forward pass alone changes."""
_AT_ONCE = 1 << 16
"""Values of an array that are taken at once."""


def walk_leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every array, tensor, number and text of bytes in ``tree``, by its path there."""
    import numpy as np  # noqa: PLC0415 - the server of a job that exchanges none may have none

    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from walk_leaves(value, f"{name}/{key}")
    elif isinstance(tree, (list, tuple)):
        for number, value in enumerate(tree):
            yield from walk_leaves(value, f"{name}/{number}")
    elif isinstance(tree, (bytes, bytearray)):
        yield name, bytes(tree)
    elif "complex" in str(getattr(tree, "dtype", "")):
        yield from walk_leaves((tree.real, tree.imag), name)
    elif hasattr(tree, "detach") or (isinstance(tree, (np.ndarray, np.generic)) and tree.dtype.kind in "fiu"):
        yield name, tree
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield name, np.asarray(float(tree))


def select_floating(tree: Any) -> dict[str, Any]:
    """Return the arrays and tensors of floating-point numbers in ``tree``, by their paths.

    Other numbers count batches, or are the state of a random generator, and are not averaged.
    """
    return {name: leaf for name, leaf in walk_leaves(tree) if _is_floating(leaf)}


def _is_floating(leaf: Any) -> bool:
    """Whether numbers have a floating point; Python's own have."""
    return not isinstance(leaf, bytes) and "float" in str(getattr(leaf, "dtype", "float"))


def convert_array(leaf: Any) -> Any:
    """Return a leaf that is not bytes as NumPy's array."""
    return leaf.detach().cpu().float().numpy() if hasattr(leaf, "detach") else leaf


def sum_products(ours: Any, theirs: Any) -> float:
    """Return the product of two vectors, in this thread: BLAS would take cores from the run's own."""
    import numpy as np  # noqa: PLC0415 - as above

    return float(np.einsum("i,i", ours, theirs))


def walk_values(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the next values of each array as float64, None where there is no array.

    Where the first two are infinite alike, as in a mask of attention, they show no training: all are 0 there.
    What is made of so few stays in a processor's cache: a large array at once takes many times as long.
    """
    for parts in walk_parts(*arrays):
        values: list[Any] = [None if part is None else part.astype("float64") for part in parts]
        first, second = (*values, None)[:2]
        if second is not None and not math.isfinite(first.sum()):
            alike = (first == second) & (abs(first) == math.inf)
            for part in values:
                if part is not None:
                    part[alike] = 0.0
        yield tuple(values)


def walk_parts(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the next values of each array, None where there is no array."""
    flat = [None if array is None else array.reshape(-1) for array in arrays]
    for start in range(0, max(array.size for array in flat if array is not None), _AT_ONCE):
        yield tuple(None if array is None else array[start : start + _AT_ONCE] for array in flat)


def sum_squares(numbers: Any) -> float:
    """Return the sum of the squares of what is not infinite in an array; NaN if a number is."""
    found = _sum_squares(numbers)
    return _sum_squares(_blank_infinite(numbers)) if found == math.inf else found


def _sum_squares(numbers: Any) -> float:
    return sum((sum_products(part, part) for (part,) in walk_values(numbers)), 0.0)


def _blank_infinite(values: Any) -> Any:
    """Return an array with 0 for what is infinite, as of a mask of attention, which each model has."""
    import numpy as np  # noqa: PLC0415 - as above

    return np.where(np.isinf(values), 0.0, values)


def count_infinite(leaf: Any) -> int:
    """Return how many numbers of an array or a tensor are infinite, or none at all."""
    import numpy as np  # noqa: PLC0415 - as above

    finite = leaf.isfinite() if hasattr(leaf, "isfinite") else np.isfinite(leaf)
    count: int = math.prod(leaf.shape) - int(finite.sum())
    return count


def sketch_model(tree: Any) -> dict[str, Any]:
    """Return a ModelEvent's figures of a model's weights: of its floating-point numbers, as float32.

    Where there are none, integers and bytes count, as of a quantised model, or of trees. The digest leaves
    out what a forward pass alone changes: it is the same until something was trained.
    """
    import numpy as np  # noqa: PLC0415 - as above

    values, infinite, squares, digests = 0, 0, 0.0, []
    leaves = select_floating(tree) or {
        name: np.frombuffer(leaf, np.uint8) if isinstance(leaf, bytes) else leaf
        for name, leaf in walk_leaves(tree)
    }
    for name, leaf in leaves.items():
        if not math.prod(leaf.shape):
            continue
        numbers = np.ascontiguousarray(convert_array(leaf), dtype=np.float32).reshape(-1)
        values += numbers.size
        infinite += count_infinite(numbers)
        squares += sum_squares(numbers)
        if not BUFFER.search(name):
            digests.append(hashlib.sha256(numbers).digest())
    return {
        "values": values,
        "infinite": infinite,
        "norm": math.sqrt(squares) if math.isfinite(squares) else None,
        "digest": hashlib.sha256(b"".join(sorted(digests))).hexdigest() if digests else None,
    }


_PARTS = 8
"""Sums in a sketch; see ``rekindle.records.events.Sketch``."""
_ROW = 1 << 13
"""Values that are summed at once, a multiple of the parts: long rows are quicker."""


class Fingerprint(NamedTuple):
    """What identifies weights."""

    digest: str
    """SHA-256 of the leaves: name, number of values, and their bytes."""
    sketch: tuple[float, ...]
    """Sums of every eighth finite value over all leaves together; empty if one is NaN."""


def fingerprint_weights(tree: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of a tree of weights, the same on CPU and GPU."""
    total = hashlib.sha256()
    for name, values in _leaves(tree):
        total.update(f"{name}\0{values.size}\0".encode())
        total.update(values)
    return Fingerprint(total.hexdigest(), sketch_weights(tree))


def sketch_weights(tree: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the sketch of a tree of weights, the same on CPU and GPU."""
    import numpy as np  # noqa: PLC0415 - this module is imported where there is none

    sums, seen = np.zeros(_PARTS), 0
    for _, values in _leaves(tree):
        row = _sum_row(values)
        if not np.isfinite(row).all():
            row = _sum_row(_blank_infinite(values))
        sums += np.roll(row.reshape(-1, _PARTS).sum(axis=0), seen)
        seen += values.size
    return tuple(sums.tolist()) if np.isfinite(sums).all() else ()


def _sum_row(values: Any) -> Any:
    """Return the sums of a row's columns, as float64, of values in rows."""
    full = values.size - values.size % _ROW
    row = values[:full].reshape(-1, _ROW).sum(axis=0, dtype="float64")
    row[: values.size - full] += values[full:]
    return row


def _names(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves by name; those of a Keras layer have the names that NVFlare's server has."""
    named = {}
    for name, value in tree.items():
        if isinstance(value, (list, tuple)):
            named.update({f"{name}_nvf_{number}": part for number, part in enumerate(value)})
        else:
            named[str(name)] = value
    return named


def _leaves(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and flat float32 array of each leaf of floating-point numbers, by name, one at a time."""
    import numpy as np  # noqa: PLC0415 - as above

    for name, value in sorted(_names(tree).items()):
        if _is_floating(value):
            yield name, np.ascontiguousarray(convert_array(value), dtype=np.float32).reshape(-1)
