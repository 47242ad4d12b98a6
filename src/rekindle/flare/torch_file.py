"""The tensors in a file of torch.save: found by its pickle's opcodes, without ever running one."""

import io
import pickletools
import struct
import sys
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

from .values import WIDTHS, UnknownFormatError, UnreadableError, Values

_PICKLE = 4 << 20
"""Bytes of data.pkl at most; a model of ten thousand tensors has two million."""
_STEPS = 1_000_000
_TENSORS = 30_000
_KINDS = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "BFloat16Storage": "bf",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "b1",
    "ComplexFloatStorage": "c8",
    "ComplexDoubleStorage": "c16",
}


class _Name(NamedTuple):
    """What the pickle would import."""

    module: str
    name: str


class _Tensor(NamedTuple):
    key: str
    """Name of its storage's file."""
    kind: str
    offset: int
    extent: int
    """Numbers from its first to its last."""


def read(archive: zipfile.ZipFile, values: Values) -> None:
    """Read all tensors of the model in ``archive``; in NVFlare's own file, those below ``model``.

    Raises:
        UnreadableError: it is not what torch.save writes.
        zipfile.BadZipFile: it is damaged.
        OSError: it cannot be read.
    """
    names = archive.namelist()
    pickles = [name for name in names if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise UnknownFormatError("it has no data.pkl, as files of torch.save have")
    root = pickles[0].removesuffix("data.pkl")
    big = f"{root}byteorder" in names and archive.open(f"{root}byteorder").read(10) == b"big"
    with archive.open(pickles[0]) as stream:
        pickled = stream.read(_PICKLE + 1)
    if len(pickled) > _PICKLE:
        raise UnreadableError(f"its data.pkl has more than {_PICKLE} bytes")
    machine = _Machine()
    try:
        content = machine.run(pickled)
    except UnreadableError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, struct.error, OverflowError) as error:
        raise UnreadableError(f"its data.pkl cannot be followed ({str(error)[:100]})") from None
    model = content.get("model") if isinstance(content, dict) else None
    below = (
        [value for value in model.values() if isinstance(value, _Tensor)] if isinstance(model, dict) else []
    )
    for tensor in dict.fromkeys(below or machine.tensors):
        _take(archive, f"{root}data/{tensor.key}", tensor, values, big)


def _take(archive: zipfile.ZipFile, name: str, tensor: _Tensor, values: Values, big: bool) -> None:
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise UnreadableError(f"it lacks the numbers of storage {tensor.key[:50]}") from None
    width = WIDTHS[tensor.kind]
    if entry.compress_type != zipfile.ZIP_STORED:
        raise UnreadableError("its numbers are compressed, as torch.save never does")
    if (tensor.offset + tensor.extent) * width > entry.file_size:
        raise UnreadableError(f"storage {tensor.key[:50]} is smaller than its tensor")
    with archive.open(entry) as stream:
        stream.seek(tensor.offset * width)
        values.take(stream, tensor.kind, tensor.extent, big)  # type: ignore[arg-type]


class _Machine:
    """Follows a pickle's opcodes with stand-ins for all that it would import or call."""

    def __init__(self) -> None:
        self.tensors: list[_Tensor] = []
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self, pickled: bytes) -> Any:
        """Return what is pickled, with stand-ins for everything except dictionaries and tensors."""
        for count, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(pickled))):
            if opcode.name == "STOP":
                return self._stack[-1]
            if count == _STEPS:
                raise ValueError(f"it has more than {_STEPS} opcodes")
            name = opcode.name
            if name in _PUSHED:
                self._stack.append(_PUSHED[name]())
            elif name in _CHANGES:
                _CHANGES[name](self)
            elif argument is not None:
                self._named(name, argument)
            else:
                raise ValueError(f"it has the opcode {name}")
        raise ValueError("it does not stop")

    def _named(self, name: str, argument: Any) -> None:
        if name.endswith("PUT"):
            self._memo[int(argument)] = self._stack[-1]
        elif name.endswith("GET"):
            self._stack.append(self._memo[int(argument)])
        elif name == "GLOBAL":
            self._stack.append(_Name(*argument.split(" ", 1)))
        else:
            self._stack.append(argument)

    def _call(self) -> None:
        made, arguments = self._off(2)
        called: Any = None
        if made == _Name("collections", "OrderedDict"):
            called = {}
        elif made == _Name("torch._utils", "_rebuild_tensor_v2"):
            called = self._tensor(arguments)
        elif made == _Name("torch._utils", "_rebuild_parameter"):
            called = arguments[0]
        self._stack.append(called)

    def _tuple(self, count: int) -> None:
        self._stack.append(tuple(self._off(count)))

    def _off(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise ValueError("its stack is empty")
        taken = self._stack[-count:]
        del self._stack[-count:]
        return taken

    def _marked(self) -> list[Any]:
        at = self._marks.pop()
        taken = self._stack[at:]
        del self._stack[at:]
        return taken

    def _set(self, pairs: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, dict):
            keys = (key if isinstance(key, (str, int)) else None for key in pairs[::2])
            target.update(zip(keys, pairs[1::2], strict=False))

    def _tensor(self, arguments: Any) -> _Tensor:
        (_, storage, key, *_), offset, sizes, strides = arguments[:4]
        kind = _KINDS.get(storage.name)
        if kind is None or not isinstance(key, str):
            raise UnknownFormatError(f"it has a {storage.name[:50]}, which is not known here")
        if not all(
            isinstance(number, int) and 0 <= number <= sys.maxsize for number in (offset, *sizes, *strides)
        ):
            raise ValueError("a tensor's size is no number")
        extent = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
        tensor = _Tensor(key, kind, offset, extent if all(sizes) else 0)
        self.tensors.append(tensor)
        if len(self.tensors) > _TENSORS:
            raise ValueError(f"it has more than {_TENSORS} tensors")
        return tensor


_PUSHED: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
}
_CHANGES: dict[str, Callable[[_Machine], Any]] = {
    **dict.fromkeys(("PROTO", "FRAME"), lambda machine: None),
    **dict.fromkeys(("POP", "BUILD", "APPEND"), lambda machine: machine._off(1)),
    **dict.fromkeys(("APPENDS", "ADDITEMS"), lambda machine: machine._marked()),
    "MARK": lambda machine: machine._marks.append(len(machine._stack)),
    "TUPLE": lambda machine: machine._stack.append(tuple(machine._marked())),
    "TUPLE1": lambda machine: machine._tuple(1),
    "TUPLE2": lambda machine: machine._tuple(2),
    "TUPLE3": lambda machine: machine._tuple(3),
    "MEMOIZE": lambda machine: machine._memo.update({len(machine._memo): machine._stack[-1]}),
    "STACK_GLOBAL": lambda machine: machine._stack.append(_Name(*machine._off(2))),
    "BINPERSID": lambda machine: machine._stack.append(tuple(machine._stack.pop())),
    "REDUCE": _Machine._call,
    "NEWOBJ": _Machine._call,
    "SETITEM": lambda machine: machine._set(machine._off(2)),
    "SETITEMS": lambda machine: machine._set(machine._marked()),
}
"""The effect of each opcode that takes from the stack; all others push their argument."""
