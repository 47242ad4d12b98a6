"""The tensors in a file of torch.save: found by Python's own unpickler, which can make nothing else here."""

import io
import pickle
import sys
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

from .values import WIDTHS, UnknownFormatError, UnreadableError, Values

_PICKLE = 4 << 20
"""Bytes of data.pkl at most; a model of ten thousand tensors has two million."""
_TENSORS = 30_000
_DIMENSIONS = 64
"""Of a tensor, at most."""
_ARGUMENTS = 100
"""Of a call at most: a small pickle may repeat one with a million."""
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
_REFUSED = (pickle.DICT, pickle.FROZENSET, pickle.ADDITEMS, pickle.EMPTY_SET, pickle.BYTEARRAY8)
"""What hashes items, which takes forever of tuples in each other, or takes memory; not in torch's files."""

_CALLS = (pickle.REDUCE, pickle.NEWOBJ, pickle.NEWOBJ_EX)


class _Storage(NamedTuple):
    kind: str
    key: str
    """Name of its file."""


class _Tensor(NamedTuple):
    key: str
    """Name of its storage's file."""
    kind: str
    offset: int
    extent: int
    """Numbers from its first to its last."""


class _Dict(dict[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (str, int)):
            super().__setitem__(key, value)


class _Unknown:
    """In place of whatever else the pickle would import or call."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class _Unpickler(pickle._Unpickler):
    """Makes dictionaries, lists, texts, numbers and tensors, and never changes what it has made by a name.

    It is the one in Python, as the other's memo takes as much memory as a pickle asks for.
    """

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self.tensors: list[_Tensor] = []

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name; nothing is imported."""
        known: dict[str, Callable[..., Any]] = {
            "collections.OrderedDict": lambda *_: _Dict(),
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
        }
        return name if module == "torch" else known.get(f"{module}.{name}", _Unknown)

    def persistent_load(self, pid: Any) -> Any:
        """Return a storage."""
        name, key = pid[1:3]
        if not (isinstance(name, str) and isinstance(key, str)):
            raise UnreadableError("it has a storage without a name")
        if name not in _KINDS:
            raise UnknownFormatError(f"it has a {name[:50]}, which is not known here")
        return _Storage(_KINDS[name], key)

    def _tensor(self, storage: Any, offset: Any, sizes: Any, strides: Any, *_: Any) -> _Tensor:
        if max(len(sizes), len(strides)) > _DIMENSIONS:
            raise UnreadableError("a tensor has too many dimensions")
        numbers = (offset, *sizes, *strides)
        if not all(isinstance(number, int) and 0 <= number <= sys.maxsize for number in numbers):
            raise UnreadableError("a tensor's size is no number")
        if not isinstance(storage, _Storage) or len(self.tensors) == _TENSORS:
            raise UnreadableError(f"a tensor has no storage, or there are more than {_TENSORS}")
        extent = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
        self.tensors.append(_Tensor(storage.key, storage.kind, offset, extent if all(sizes) else 0))
        return self.tensors[-1]


def _refuse(unpickler: Any) -> None:
    raise UnreadableError("its data.pkl has what torch.save does not write")


def _make_dict(unpickler: Any) -> None:
    unpickler.append(_Dict())


def _drop_state(unpickler: Any) -> None:
    unpickler.stack.pop()


def _calling(load: Callable[[Any], None]) -> Callable[[Any], None]:
    def bounded(unpickler: Any) -> None:
        if any(
            isinstance(part, (tuple, list, dict)) and len(part) > _ARGUMENTS for part in unpickler.stack[-2:]
        ):
            raise UnreadableError("its data.pkl has a call with too many arguments")
        load(unpickler)

    return bounded


_Unpickler.dispatch |= {
    **dict.fromkeys((code[0] for code in _REFUSED), _refuse),
    pickle.EMPTY_DICT[0]: _make_dict,
    pickle.BUILD[0]: _drop_state,
    **{code[0]: _calling(_Unpickler.dispatch[code[0]]) for code in _CALLS},
}


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
    unpickler = _Unpickler(pickled)
    try:
        content = unpickler.load()
    except UnreadableError:
        raise
    except Exception as error:  # a hostile pickle may end in any
        raise UnreadableError(f"its data.pkl cannot be followed ({type(error).__name__})") from None
    model = content.get("model") if isinstance(content, dict) else None
    below = (
        [value for value in model.values() if isinstance(value, _Tensor)] if isinstance(model, dict) else []
    )
    for tensor in dict.fromkeys(below or unpickler.tensors):
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
