# SPDX-License-Identifier: Apache-2.0
"""The GPUs that a framework's wheel was compiled for, from the wheel itself."""

import ast
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rekindle.solver.catalogue import Kernels

_FLAGS = re.compile(rb"(?:(?:sm|compute)_\d+[af]? )*(?:sm|compute)_\d+[af]?(?=\0)")

_MODULE = re.compile(rb"\x50\xed\x55\xba\x01\x00\x10\x00")
"""Beginning of a module (fatbin) of nvcc or XLA's compiler: number, version, size of its header."""
_PART = struct.Struct("<H2xIQ8xHHI")
"""Kind, size of its header and of what follows, minor and major of the language, architecture."""


@dataclass(frozen=True)
class WheelReport:
    """The build's own description, read without installing it."""

    toolkit: str | None
    """CUDA that it was compiled with, ``12.8``; None for a CPU build."""
    arch_list: Sequence[str]
    """``sm_90`` is machine code, ``compute_90`` is PTX; empty for a CPU build."""
    kernels: Sequence[Kernels] = ()
    """TensorFlow's, whose kernels differ; largest first."""


def read_wheel(path: Path) -> WheelReport:
    """Read the CUDA version and the architectures out of a torch or TensorFlow wheel.

    torch keeps in libtorch_python.so the string behind ``torch.cuda.get_arch_list()``; TensorFlow keeps in
    build_info.py what ``tf.sysconfig.get_build_info()`` returns.

    Raises:
        ValueError: the file is not a wheel of either, or has no list of GPUs.
    """
    try:
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            if "torch/version.py" in names:
                return _torch(
                    path, wheel.read("torch/version.py"), wheel.read("torch/lib/libtorch_python.so")
                )
            if "tensorflow/python/platform/build_info.py" in names:
                toolkit, arch_list = _tensorflow(path, wheel.read("tensorflow/python/platform/build_info.py"))
                return WheelReport(toolkit, arch_list, _kernels(wheel) if toolkit else ())
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{path} cannot be read as a wheel: {error}. Fix: download it again.") from None
    raise ValueError(f"{path} is not a wheel of torch or tensorflow. Fix: name one that is.")


def _torch(path: Path, version: bytes, library: bytes) -> WheelReport:
    cuda = re.search(rb"^cuda(?:: Optional\[str\])? = '(\d+\.\d+)'", version, re.MULTILINE)
    if cuda is None:
        return WheelReport(None, ())
    lists = {tuple(flags.decode().split(" ")) for flags in _FLAGS.findall(library) if b" " in flags}
    if len(lists) != 1:
        raise ValueError(f"{path} holds {len(lists)} lists of architectures in libtorch_python.so, not one.")
    return WheelReport(cuda[1].decode(), lists.pop())


def _kernels(wheel: zipfile.ZipFile) -> tuple[Kernels, ...]:
    """Return the kernels in the libraries of ``wheel``, without groups below a thousandth of their size."""
    sizes: Counter[tuple[str, tuple[str, ...], str]] = Counter()
    for member in wheel.infolist():
        if ".so" in Path(member.filename).name:
            library = wheel.read(member)
            for match in _MODULE.finditer(library):
                arch_list, ptx, size = _module(library, match.start())
                if arch_list:
                    sizes[Path(member.filename).name, arch_list, ptx] += size
    for name in {name for name, _, _ in sizes}:
        _join(sizes, name)
    groups = [
        Kernels(library=name, arch_list=arch_list, ptx=ptx, kib=size >> 10)
        for (name, arch_list, ptx), size in sizes.most_common()
    ]
    least = sum(group.kib for group in groups) / 1000
    return tuple(group for group in groups if group.kib > least)


def _join(sizes: Counter[tuple[str, tuple[str, ...], str]], library: str) -> None:
    """Join what nvlink leaves in two: the machine code that it linked, and the PTX of its parts."""
    own = [kind for kind in sizes if kind[0] == library]
    linked = [kind for kind in own if not kind[2]]
    parts = [kind for kind in own if not any(name.startswith("sm_") for name in kind[1])]
    if linked and parts:
        names = tuple(dict.fromkeys(name for kind in (*linked, *parts) for name in kind[1]))
        sizes[library, names, parts[0][2]] += sum(sizes[kind] for kind in linked)
        for kind in (*linked, *parts):
            del sizes[kind]


def _module(library: bytes, start: int) -> tuple[tuple[str, ...], str, int]:
    """Return the architectures of the module (fatbin) at ``start``, its PTX's version and its largest part.

    After 16 bytes, which end with its size, come its parts: each a header with its kind (1 PTX, 2 machine
    code), its own size, the part's, the language's version and the architecture, and the part.
    """
    names: dict[str, int] = {}
    ptx = ""
    at = start + 16
    end = min(at + struct.unpack_from("<Q", library, start + 8)[0], len(library) - _PART.size)
    while at < end:
        kind, header, size, minor, major, arch = _PART.unpack_from(library, at)
        if kind not in (1, 2) or header < _PART.size:
            break
        names[f"{'sm' if kind == 2 else 'compute'}_{arch}"] = size
        ptx = f"{major}.{minor}" if kind == 1 else ptx
        at += header + size
    ordered = sorted(names, key=lambda name: (name.startswith("compute"), int(name.partition("_")[2])))
    code = [size for name, size in names.items() if name.startswith("sm_")]
    return tuple(ordered), ptx, max(code or names.values(), default=0)


def _tensorflow(path: Path, module: bytes) -> tuple[str | None, Sequence[str]]:
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "OrderedDict":
            info = dict(ast.literal_eval(node.args[0]))
            if not info.get("is_cuda_build"):
                return None, ()
            toolkit = ".".join(str(info["cuda_version"]).split(".")[:2])
            return toolkit, tuple(info["cuda_compute_capabilities"])
    raise ValueError(f"{path} has a build_info.py without build_info.")
