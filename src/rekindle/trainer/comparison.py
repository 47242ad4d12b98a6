# SPDX-License-Identifier: Apache-2.0
"""Compares a site's result with the model that it was sent, and with another site's result."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from .arrays import BUFFER, convert_array, sum_products, sum_squares, walk_leaves, walk_parts, walk_values
from .correlation import LEAST_LEAF, Correlation, Moments

_OF_KERAS = re.compile(r"(.*)_nvf_(\d{1,9})$")
"""Layer and number of an array of Keras' as NVFlare names it."""
_BATCH_NORM = re.compile("batch_?norm", re.IGNORECASE)
_ROUNDING = 5e-7
"""Of a leaf's largest value, or of the model's RMS if that is more: 4 steps of float32."""
_SCALED = 0.01
"""Share of a change that rounding leaves besides a scaling, at most; training leaves nearly all."""


class Figures(NamedTuple):
    """Of one result; a TaskEvent describes each field."""

    values: int
    bytes: int
    finite: bool | None
    norm: float | None
    moved: float | None
    trained: float | None
    kept: float | None
    alike: float | None
    relative: float | None
    blank: int
    still: int


class _Leaf:
    """Sums over one leaf of a result, beside what was sent and what another site sent of it."""

    def __init__(self, *, difference: bool) -> None:
        """A result may be a difference: what was added to what was sent."""
        self._difference = difference
        self.squares = self.moved = self.given = self.largest = self._along = 0.0
        self.blank = True
        self.kept, self.alike = Moments(), Moments()

    def add(self, result: Any, then: Any, theirs: Any) -> None:
        """Take the next values; ``then`` and ``theirs`` are None where there are none."""
        base = then if self._difference and then is not None else 0.0
        now = base + result
        self.squares += sum_products(result, result)
        self.blank = self.blank and not now.any()
        if then is not None:
            change = self.find_change(result, then)
            self.moved += sum_products(change, change)
            self.given += sum_products(then, then)
            self._along += sum_products(change, then)
            self.largest = max(float(abs(then).max()), self.largest)
            self.kept.add(now, then)
        if theirs is not None:
            self.alike.add(now, base + theirs)

    def find_change(self, result: Any, then: Any) -> Any:
        return result if self._difference else result - then

    @property
    def scaled(self) -> float:
        """By how much of what was sent the leaf is longer, as after weight decay."""
        return self._along / self.given if self.kept.count >= LEAST_LEAF and self.given else 0.0


class _Step:
    """From what was sent to a result."""

    def __init__(self, rms: float) -> None:
        """Take the root mean square of all that was sent, beside which a change is rounding or is not."""
        self._rms = rms
        self._moved = self._trained = self._turned = 0.0
        self._compared = self._weighed = False

    def add(self, leaf: _Leaf, values: Iterable[tuple[Any, Any]], *, same: bool, weights: bool) -> None:
        """Take a leaf, and its values once more: what came, and what was sent."""
        import numpy as np  # noqa: PLC0415 - the server of a job that exchanges none may have none

        self._compared = True
        self._weighed |= weights
        if same:
            return
        self._moved += leaf.moved
        least, scaled = _ROUNDING * max(leaf.largest, self._rms), leaf.scaled
        for result, then in values if weights else ():
            change = leaf.find_change(result, then)
            clear = abs(change) > least
            trained, turned = np.where(clear, change, 0.0), np.where(clear, change - scaled * then, 0.0)
            self._trained += sum_products(trained, trained)
            self._turned += sum_products(turned, turned)

    @property
    def moved(self) -> float | None:
        return math.sqrt(self._moved) if self._compared else None

    @property
    def trained(self) -> float | None:
        """That of the weights, without what may be rounding; None where all are integers, as if quantised."""
        return math.sqrt(self._trained) if self._weighed else None

    @property
    def scales(self) -> bool:
        """Whether it only scales each leaf, as weight decay does."""
        return self._turned < _SCALED**2 * self._trained


class _Kept:
    """How much of what was sent is in a result."""

    def __init__(self) -> None:
        self.correlation = Correlation()
        self.blank = self.still = 0
        self._ours = self._given = 0.0

    def add(self, leaf: _Leaf, *, same: bool) -> None:
        count = leaf.kept.count
        self.correlation.add(leaf.kept)
        if count >= LEAST_LEAF and leaf.largest and leaf.blank:
            self.blank += count
        if count >= LEAST_LEAF and same:
            self.still += count
        self._ours += leaf.squares
        self._given += leaf.given

    @property
    def relative(self) -> float | None:
        return math.sqrt(self._ours / self._given) if self._given else None


def compare_result(
    sent: Mapping[str, Any],
    got: Any,
    other: Mapping[str, Any],
    buffers: Collection[str] = (),
    *,
    difference: bool = False,
) -> Figures:
    """Compare a result with what its site was sent, and with the first result of the same round.

    Args:
        sent: leaves by name.
        got: the result, a tree.
        other: leaves of the other result by name; empty if this is the first.
        buffers: names that are no weights, beside those which batch normalisation gives its own.
        difference: whether a result is what was added to what was sent.
    """
    count, size, squares = 0, 0, 0.0
    step, kept, alike = _Step(_rms(sent)), _Kept(), Correlation()
    passive = {*_of_batch_norm(got), *(f"/{name}" for name in buffers)}
    for name, leaf in walk_leaves(got):
        size += len(leaf) if isinstance(leaf, bytes) else leaf.nbytes
        if isinstance(leaf, bytes):
            continue
        numbers = convert_array(leaf)
        weights = numbers.dtype.kind == "f" and not BUFFER.search(name) and name not in passive
        before = _counterpart(name, numbers, sent)
        twin = other.get(name) if weights else None
        if twin is not None:
            twin = None if isinstance(twin, bytes) or twin.shape != numbers.shape else convert_array(twin)
        sums = _Leaf(difference=difference)
        for values in walk_values(numbers, before, twin):
            sums.add(*values)
        count, squares = count + numbers.size, squares + sums.squares
        if before is not None:
            same = not sums.squares if difference else _only_rounded(numbers, before)
            step.add(sums, walk_values(numbers, before), same=same, weights=weights)
            if weights:
                kept.add(sums, same=same)
        if twin is not None:
            alike.add(sums.alike)
    return Figures(
        values=count,
        bytes=size,
        finite=math.isfinite(squares) if count else None,
        norm=math.sqrt(squares) if count else None,
        moved=step.moved,
        trained=0.0 if kept.correlation.value is not None and step.scales else step.trained,
        kept=kept.correlation.value,
        alike=alike.value,
        relative=kept.relative,
        blank=kept.blank,
        still=kept.still,
    )


def _of_batch_norm(tree: Any) -> set[str]:
    """Return the moving mean and variance of Keras' BatchNormalization, whatever its layer's name.

    They end a row of vectors of one length: after what scales and shifts, or alone in a layer of that name.
    """
    named = ((_OF_KERAS.match(name), leaf) for name, leaf in walk_leaves(tree) if not isinstance(leaf, bytes))
    arrays = sorted((name[1], int(name[2]), leaf.shape, name[0]) for name, leaf in named if name)
    found = set()
    for (layer, shape), row in groupby(arrays, key=itemgetter(0, 2)):
        names = [name for *_, name in row]
        if len(shape) == 1 and (len(names) > 2 or _BATCH_NORM.search(layer)):
            found.update(names[-2:])
    return found


def _rms(sent: Mapping[str, Any]) -> float:
    count, squares = 0, 0.0
    for numbers in (convert_array(leaf) for leaf in sent.values() if not isinstance(leaf, bytes)):
        if numbers.dtype.kind == "f":
            count += numbers.size
            squares += sum_squares(numbers)
    return math.sqrt(squares / count) if count else 0.0


def _counterpart(name: str, numbers: Any, sent: Mapping[str, Any]) -> Any:
    """Return what a leaf of a result was when it was sent; None if that is not known.

    A result may have the model's names with a prefix (``module.``), or others over the very same values.
    """
    exact = sent.get(name)
    if exact is not None:
        return (
            None
            if isinstance(exact, bytes) or convert_array(exact).shape != numbers.shape
            else convert_array(exact)
        )
    same = [
        (other, convert_array(leaf))
        for other, leaf in sent.items()
        if not isinstance(leaf, bytes) and convert_array(leaf).shape == numbers.shape and numbers.size > 1
    ]
    ours = f".{name[1:]}"
    ends = (leaf for other, leaf in same if ours.endswith(f".{other[1:]}") or f".{other[1:]}".endswith(ours))
    return next(chain(ends, (leaf for _, leaf in same if _only_rounded(numbers, leaf))), None)


def _only_rounded(got: Any, sent: Any) -> bool:
    """Whether ``got`` is ``sent``, exactly or after rounding to half precision or bfloat16."""
    return any(
        all(bool((ours == convert(theirs)).all()) for ours, theirs in walk_parts(got, sent))
        for convert in (_keep, _round_to_half, _round_to_brain)
    )


def _keep(values: Any) -> Any:
    return values


def _round_to_half(values: Any) -> Any:
    return values.astype("float32").astype("float16")


def _round_to_brain(values: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - as above

    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)
