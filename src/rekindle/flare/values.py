"""Numbers in files, checked without keeping all of them: whether finite, whether all zero."""

import math
import struct
import sys
from array import array
from collections.abc import Iterator
from typing import BinaryIO

CHUNK = 1 << 20
"""Bytes that are read at once; a multiple of every width."""
MOST = 256 << 20
"""Bytes of one model that are read."""
KEPT = 100_000
"""Numbers that are kept, to compare them with others."""
_CODES = {
    **{"f4": "f", "f8": "d", "b1": "B"},
    **{"i1": "b", "i2": "h", "i4": "i", "i8": "q"},
    **{"u1": "B", "u2": "H", "u4": "I", "u8": "Q"},
}
_LARGEST = 1e300
"""Larger figures are implausible; JSON's integers have no bound."""
WIDTHS = {**{kind: int(kind[1]) for kind in _CODES}, "f2": 2, "bf": 2, "c8": 8, "c16": 16}
"""Bytes of a number, by its kind as numpy has it, and ``bf``, bfloat16."""


class UnreadableError(ValueError):
    """A file is not what its name promises; the text is a clause with the reason."""

    damaged = True
    """Whether the file is at fault, not our reader."""


class UnknownFormatError(UnreadableError):
    """A file's format cannot be read here."""

    damaged = False


class Values:
    """Properties of a model's numbers."""

    def __init__(self) -> None:
        """Start without numbers."""
        self.count = 0
        self.finite = True
        self.zero = True
        self.whole = True
        """Whether all of them were read."""
        self.kept: list[float] | None = []
        """The numbers in their order; None if they are more than `KEPT`."""
        self._left = MOST

    def take(self, stream: BinaryIO, kind: str, count: int, big: bool = False) -> None:
        """Read ``count`` numbers of a ``kind`` in `WIDTHS`, ``big``-endian or not, from ``stream``.

        Raises:
            UnreadableError: there are not so many, or the kind is unknown.
            OSError: the file cannot be read.
        """
        if kind not in WIDTHS:
            raise UnknownFormatError(f"it has numbers of the kind {kind}, which is not known here")
        left = count * WIDTHS[kind]
        self.count += count
        if self.count > KEPT:
            self.kept = None
        while left:
            if self._left <= 0:
                self.whole = False
                return
            raw = stream.read(min(left, CHUNK))
            if not raw or len(raw) % WIDTHS[kind]:
                raise UnreadableError(f"it ends {left - len(raw)} bytes too early")
            left -= len(raw)
            self._left -= len(raw)
            self._check(raw, kind, big)

    def _check(self, raw: bytes, kind: str, big: bool) -> None:
        found = _numbers(raw, kind, big)
        self.zero = self.zero and not any(found)
        if kind[0] in "bfc" and kind != "b1" and not math.isfinite(sum(found)):
            self.finite = self.finite and all(map(math.isfinite, found))  # a sum may overflow by itself
        if self.kept is not None:
            self.kept.extend(found)


def _numbers(raw: bytes, kind: str, big: bool) -> "array[float] | tuple[float, ...]":
    if kind == "f2":
        return struct.unpack(f"{'>' if big else '<'}{len(raw) // 2}e", raw)
    if kind == "bf":  # the upper half of a float32
        wide = bytearray(2 * len(raw))
        wide[2::4], wide[3::4] = (raw[1::2], raw[0::2]) if big else (raw[0::2], raw[1::2])
        raw, kind, big = bytes(wide), "f4", False
    numbers: array[float] = array({"c8": "f", "c16": "d"}.get(kind) or _CODES[kind], raw)
    if big is (sys.byteorder == "little"):
        numbers.byteswap()
    return numbers


def numbers_in(nested: object) -> Iterator[float]:
    """Yield the numbers in what JSON holds, in their order; NaN in place of implausible ones."""
    left = [nested]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(reversed(item.values()))
        elif isinstance(item, list):
            left.extend(reversed(item))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield item if abs(item) < _LARGEST else math.nan
