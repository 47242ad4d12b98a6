"""What a framework's wheel file says about the GPUs that it was compiled for."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_FLAGS = re.compile(rb"(?:(?:sm|compute)_\d+[af]? )*(?:sm|compute)_\d+[af]?(?=\0)")


@dataclass(frozen=True)
class WheelReport:
    """The build's own words, read without installing it."""

    toolkit: str | None
    """CUDA that it was compiled with, ``12.8``; None for a CPU build."""
    arch_list: Sequence[str]
    """``sm_90`` is machine code, ``compute_90`` is PTX; empty for a CPU build."""


def read_wheel(path: Path) -> WheelReport:
    """Read the CUDA version and the architectures out of a torch or TensorFlow wheel.

    torch keeps in libtorch_python.so the string behind ``torch.cuda.get_arch_list()``; TensorFlow keeps in
    build_info.py what ``tf.sysconfig.get_build_info()`` returns.

    Raises:
        ValueError: the file is no wheel of either, or says nothing about its GPUs.
    """
    try:
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            if "torch/version.py" in names:
                return _torch(
                    path, wheel.read("torch/version.py"), wheel.read("torch/lib/libtorch_python.so")
                )
            if "tensorflow/python/platform/build_info.py" in names:
                return _tensorflow(path, wheel.read("tensorflow/python/platform/build_info.py"))
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{path} cannot be read as a wheel: {error}. Fix: download it again.") from None
    raise ValueError(f"{path} is not a wheel of torch or tensorflow. Fix: name one that is.")


def _torch(path: Path, version: bytes, library: bytes) -> WheelReport:
    found = re.search(rb"^cuda(?:: Optional\[str\])? = '(\d+\.\d+)'", version, re.MULTILINE)
    if found is None:
        return WheelReport(None, ())
    lists = {tuple(flags.decode().split(" ")) for flags in _FLAGS.findall(library) if b" " in flags}
    if len(lists) != 1:
        raise ValueError(f"{path} holds {len(lists)} lists of architectures in libtorch_python.so, not one.")
    return WheelReport(found[1].decode(), lists.pop())


def _tensorflow(path: Path, module: bytes) -> WheelReport:
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "OrderedDict":
            info = dict(ast.literal_eval(node.args[0]))
            if not info.get("is_cuda_build"):
                return WheelReport(None, ())
            toolkit = ".".join(str(info["cuda_version"]).split(".")[:2])
            return WheelReport(toolkit, tuple(info["cuda_compute_capabilities"]))
    raise ValueError(f"{path} has a build_info.py without build_info.")
