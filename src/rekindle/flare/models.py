"""Models as NVFlare's server saves them, read without a framework and without running their code."""

import re
import struct
import zipfile
import zlib
from typing import BinaryIO

from . import torch_file
from .values import UnknownFormatError, UnreadableError, Values
from .workspace import Member

_DIRECTORY = 4 << 20
"""Bytes of a zip file's directory, at most: forty thousand tensors."""
_HEADER = 64 << 10
_NPY = re.compile(
    rb"\{'descr': '([<>|=])([fiubc]\d{1,2})', "
    rb"'fortran_order': (?:True|False), 'shape': \(([\d, ]{0,300})\), \}"
)
_HDF5 = b"\x89HDF\r\n\x1a\n"
_FOBS, _BEGINS = b"__fobs_type__", 100
_TAIL = 22 + 65535 + 76
"""Bytes at the end of a zip file that include its directory's size."""
READ = (".npy", ".npz", ".pt", ".pth", ".ckpt")
"""Endings of the files whose numbers can be read."""


def read_model(member: Member, name: str) -> Values | None:
    """Read the numbers of the model ``name``; None if its format only shows that it is complete.

    Raises:
        UnreadableError: it is damaged, or its format is not known here.
        OSError: it cannot be read.
    """
    with member.open(name) as stream:
        if name.endswith(".h5"):
            _hdf5(stream)
            return None
        values = Values()
        try:
            if _FOBS in stream.read(_BEGINS):
                raise UnknownFormatError("it is NVFlare's FOBS, which takes NVFlare to read")
            stream.seek(0)
            if name.endswith(".npy"):
                _npy(stream, values)
            elif name.endswith(READ):
                with opened_zip(stream) as archive:
                    _npz(archive, values) if name.endswith(".npz") else torch_file.read(archive, values)
            else:
                raise UnknownFormatError("its format takes its framework to read")
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise UnreadableError(f"it is damaged ({str(error)[:100]})") from None
    if not values.count:
        raise UnreadableError("it has no numbers")
    return values


def _npy(stream: BinaryIO, values: Values) -> None:
    if stream.read(6) != b"\x93NUMPY":
        raise UnreadableError("it does not begin as numpy's files do")
    version = stream.read(2)
    length = stream.read(2 if version[:1] == b"\x01" else 4)
    header = stream.read(min(int.from_bytes(length, "little"), _HEADER))
    match = _NPY.match(header)
    if match is None:
        raise UnknownFormatError("its header is not that of an array of numbers")
    count = 1
    for size in match[3].split(b","):
        count *= int(size) if size.strip() else 1
    values.take(stream, match[2].decode(), count, big=match[1] == b">")


def _npz(archive: zipfile.ZipFile, values: Values) -> None:
    for entry in archive.infolist():
        with archive.open(entry) as stream:
            _npy(stream, values)  # type: ignore[arg-type]


def _hdf5(stream: BinaryIO) -> None:
    """Compare a file's size with the one in its header; nothing else of HDF5 is read."""
    head = stream.read(64)
    if head[:8] != _HDF5 or len(head) < 48:
        raise UnreadableError("it does not begin as HDF5 files do")
    at = 40 if head[8] < 2 else 28
    ends = struct.unpack_from("<Q", head, at)[0]
    if stream.seek(0, 2) < ends:
        raise UnreadableError(f"it should have {ends} bytes, and has {stream.tell()}")


def opened_zip(stream: BinaryIO) -> zipfile.ZipFile:
    """Open a zip file whose directory is of a bounded size.

    Raises:
        UnreadableError: it is no zip file, or its directory is too large.
        zipfile.BadZipFile: it is damaged.
    """
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    at, wide = tail.rfind(b"PK\5\6"), tail.rfind(b"PK\6\6")
    if at < 0 or len(tail) < at + 22:
        raise UnreadableError("it is no zip file, or its end is missing")
    directory = struct.unpack_from("<L", tail, at + 12)[0]
    if 0 <= wide <= len(tail) - 48:
        directory = max(directory % 0xFFFFFFFF, struct.unpack_from("<Q", tail, wide + 40)[0])
    if directory > _DIRECTORY:
        raise UnreadableError(f"its directory has {directory} bytes")
    return zipfile.ZipFile(stream)
