"""Messages of Protocol Buffers as TensorBoard and W&B write them, by the numbers of their fields."""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field: an integer, or bytes, which are also those of a float.

    Raises:
        ValueError: it is no message, or cut.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"it has a field of the kind {kind}")
        if at + size > len(message):
            raise ValueError("a field of it is cut")
        yield key >> 3, message[at : at + size]
        at += size


def field(message: bytes, number: int) -> bytes:
    """Return the bytes of the last field with that number; empty if there is none.

    Raises:
        ValueError: it is no message, or cut.
    """
    found = [value for key, value in fields(message) if key == number and isinstance(value, bytes)]
    return found[-1] if found else b""


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at + place >= len(message):
            raise ValueError("a number of it is cut")
        byte = message[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number of it has no end")
