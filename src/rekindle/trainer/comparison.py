# SPDX-License-Identifier: Apache-2.0
"""Compares a site's result with the model that it was sent, and with another site's result."""

import math
import re
from collections.abc import Mapping
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from .arrays import BUFFER, convert_array, walk_leaves

_OF_KERAS = re.compile(r"(.*)_nvf_(\d{1,9})$")
"""Layer and number of an array of Keras' as NVFlare names it."""
_BATCH_NORM = re.compile("batch_?norm", re.IGNORECASE)
_ROUNDING = 5e-7
"""Of a leaf's largest value, or of the model's RMS if that is more: 4 steps of float32."""
_SCALED = 0.01
"""Share of a change that rounding leaves besides a scaling, at most; training leaves nearly all."""
_ENOUGH = 150
"""Values for a correlation, at least: of fewer, chance makes a third or more."""
_LEAST_LEAF = 8
"""Values of a leaf that takes part in it, at least."""


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


class _Correlation:
    """Of two models, over the leaves that both have, each less its mean."""

    def __init__(self) -> None:
        self._dot = self._ours = self._theirs = 0.0
        self._count = 0

    def add(self, ours: Any, theirs: Any) -> None:
        if ours.size >= _LEAST_LEAF:
            ours, theirs = ours - ours.mean(), theirs - theirs.mean()
            self._dot += float((ours * theirs).sum())
            self._ours += float((ours * ours).sum())
            self._theirs += float((theirs * theirs).sum())
            self._count += ours.size

    @property
    def value(self) -> float | None:
        """From -1 to 1; None where it would prove nothing."""
        scale = math.sqrt(self._ours * self._theirs)
        return self._dot / scale if self._count >= _ENOUGH and scale > 0 else None


class _Size:
    """Of a result."""

    def __init__(self) -> None:
        self.values = self.bytes = 0
        self.squares = 0.0

    def add(self, result: Any, size: int) -> None:
        """Take a leaf of so many bytes."""
        self.values, self.bytes = self.values + result.size, self.bytes + size
        self.squares += float((result**2).sum())


class _Step:
    """From what was sent to a result."""

    def __init__(self, rms: float) -> None:
        """Take the root mean square of all that was sent, beside which a change is rounding or is not."""
        self._rms = rms
        self._moved = self._trained = self._turned = 0.0
        self._compared = self._weighed = False

    def add(self, then: Any, change: Any, *, same: bool, weights: bool) -> None:
        self._compared = True
        self._weighed |= weights
        if same:
            return
        self._moved += float((change**2).sum())
        if weights and then.size:
            clear = abs(change) > _ROUNDING * max(float(abs(then).max()), self._rms)
            self._trained += float((change[clear] ** 2).sum())
            self._turned += float((_reject(change, then)[clear] ** 2).sum())

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
        self.correlation = _Correlation()
        self.blank = self.still = 0
        self._ours = self._given = 0.0

    def add(self, then: Any, now: Any, result: Any, *, same: bool) -> None:
        """Take a leaf as it was sent, as the site has it now, and as it came: a difference may be."""
        self.correlation.add(now, then)
        if now.size >= _LEAST_LEAF and then.any() and not now.any():
            self.blank += now.size
        if now.size >= _LEAST_LEAF and same:
            self.still += now.size
        self._ours += float((result**2).sum())
        self._given += float((then**2).sum())

    @property
    def relative(self) -> float | None:
        return math.sqrt(self._ours / self._given) if self._given else None


def correlate_models(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float | None:
    """Return that of two models, by the leaves that both have; None where it would prove nothing."""
    import numpy as np  # noqa: PLC0415 - the server of a job that exchanges none may have none

    found = _Correlation()
    for name in ours.keys() & theirs.keys():
        first, second = convert_array(ours[name]), convert_array(theirs[name])
        if first.shape == second.shape and not BUFFER.search(name):
            found.add(first.astype(np.float64), second.astype(np.float64))
    return found.value


def compare_result(
    sent: Mapping[str, Any], got: Any, other: Mapping[str, Any], *, difference: bool = False
) -> Figures:
    """Compare a result with what its site was sent, and with the first result of the same round.

    Args:
        sent: leaves by name.
        got: the result, a tree.
        other: leaves of the other result by name; empty if this is the first.
        difference: whether a result is what was added to what was sent.
    """
    import numpy as np  # noqa: PLC0415 - the server of a job that exchanges none may have none

    size, step, kept, alike = _Size(), _Step(_rms(sent)), _Kept(), _Correlation()
    buffers = _of_batch_norm(got)
    for name, leaf in walk_leaves(got):
        if isinstance(leaf, bytes):
            size.bytes += len(leaf)
            continue
        numbers = convert_array(leaf)
        weights = numbers.dtype.kind == "f" and not BUFFER.search(name) and name not in buffers
        before, result, base = _counterpart(name, numbers, sent), numbers.astype(np.float64), 0.0
        size.add(result, leaf.nbytes)
        if before is not None:
            then = before.astype(np.float64)
            base = then if difference else 0.0
            same = not result.any() if difference else _only_rounded(numbers, before)
            change = result if difference else result - then
            step.add(then, change, same=same, weights=weights)
            if weights:
                kept.add(then, base + result, result, same=same)
        twin = other.get(name)
        if weights and twin is not None and not isinstance(twin, bytes) and twin.shape == numbers.shape:
            alike.add(base + result, base + convert_array(twin).astype(np.float64))
    return Figures(
        values=size.values,
        bytes=size.bytes,
        finite=math.isfinite(size.squares) if size.values else None,
        norm=math.sqrt(size.squares) if size.values else None,
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


def _reject(change: Any, then: Any) -> Any:
    """Return what a change has besides a scaling of the leaf: nothing, where weight decay is all it is."""
    import numpy as np  # noqa: PLC0415 - as above

    square = float(np.vdot(then, then)) if then.size >= _LEAST_LEAF else 0.0
    return change - then * (float(np.vdot(change, then)) / square) if square else change


def _rms(sent: Mapping[str, Any]) -> float:
    count, squares = 0, 0.0
    for numbers in (convert_array(leaf) for leaf in sent.values() if not isinstance(leaf, bytes)):
        if numbers.dtype.kind == "f":
            count += numbers.size
            squares += float((numbers.astype("float64") ** 2).sum())
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
    import numpy as np  # noqa: PLC0415 - as above

    got, single = got.ravel(), sent.ravel().astype(np.float32)
    if (got == sent.ravel()).all():
        return True
    with np.errstate(over="ignore"):
        half = single.astype(np.float16)
    bits = single.view(np.uint32)
    brain = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return bool((got == half).all() or (got == brain.view(np.float32)).all())
