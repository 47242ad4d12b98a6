# SPDX-License-Identifier: Apache-2.0
"""Architectures out of a wheel's file."""

import struct
import zipfile

import pytest
from msgspec.structs import astuple
from read_wheel import WheelReport, read_wheel

# As they stand in torch 2.10.0 and TensorFlow 2.21.0 of the package index.
TORCH_VERSION = b"__version__ = '2.10.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\nhip = None\n"
TORCH_FLAGS = b"\x7fELF\0cudaGetErrorString\0sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120\0sm_%d\0"
TENSORFLOW = b"""import collections
build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'sm_89', 'compute_90']),
('cuda_version', '12.5.1'), ('is_cuda_build', True)])
"""


def _wheel(folder, **members):
    path = folder / "some.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
    return path


def _torch(folder, version=TORCH_VERSION, library=TORCH_FLAGS):
    return _wheel(folder, **{"torch/version.py": version, "torch/lib/libtorch_python.so": library})


def _tensorflow(folder, module):
    return _wheel(folder, **{"tensorflow/python/platform/build_info.py": module})


def test_torch_has_what_get_arch_list_reports(tmp_path):
    expected = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
    assert read_wheel(_torch(tmp_path)) == WheelReport("12.8", expected)


def test_tensorflow_has_what_get_build_info_reports(tmp_path):
    report = read_wheel(_tensorflow(tmp_path, TENSORFLOW))
    assert report == WheelReport("12.5", ("sm_60", "sm_89", "compute_90"))
    cpu = TENSORFLOW.replace(b"True", b"False")
    assert read_wheel(_tensorflow(tmp_path, cpu)) == WheelReport(None, ())


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="0 lists of architectures"):
        read_wheel(_torch(tmp_path, library=b"\0sm_90\0"))
    with pytest.raises(ValueError, match="without build_info"):
        read_wheel(_tensorflow(tmp_path, b"import collections\n"))
    with pytest.raises(ValueError, match="not a wheel of torch or tensorflow"):
        read_wheel(_wheel(tmp_path, **{"numpy/__init__.py": b""}))
    truncated = tmp_path / "truncated.whl"
    truncated.write_bytes(_torch(tmp_path).read_bytes()[:100])
    for path in (truncated, tmp_path / "absent.whl"):
        with pytest.raises(ValueError, match="cannot be read as a wheel"):
            read_wheel(path)


def _module(*parts):
    """A fatbin of parts: kind (1 PTX, 2 machine code), architecture, KiB, version of the language."""
    body = b""
    for kind, arch, kib, language in parts:
        major, minor = map(int, language.split("."))
        header = struct.pack("<HHIQIIHHI", kind, 0x101, 64, kib << 10, 0, 0, minor, major, arch)
        body += header.ljust(64, b"\0") + bytes(kib << 10)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_tensorflows_kernels_are_read_from_its_libraries(tmp_path):
    most = _module((2, 80, 300, "8.3"), (2, 90, 400, "8.3"), (1, 90, 100, "8.3"))
    rest = _module((2, 80, 8, "8.5"), (1, 90, 9, "8.5"))
    linked = _module((2, 80, 50, "8.3"))
    parts = _module((1, 90, 70, "8.3"))
    broken = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 60)
    found = read_wheel(
        _wheel(
            tmp_path,
            **{
                "tensorflow/python/platform/build_info.py": TENSORFLOW,
                "tensorflow/libtensorflow_cc.so.2": b"x" + most + b"yy" + rest + most,
                "tensorflow/libtensorflow_framework.so.2": linked + b"z" + parts + broken,
                "tensorflow/notes.txt": most,
            },
        )
    )
    expected = [
        ("libtensorflow_cc.so.2", ("sm_80", "sm_90", "compute_90"), "8.3", 800),
        ("libtensorflow_framework.so.2", ("sm_80", "compute_90"), "8.3", 50),
        ("libtensorflow_cc.so.2", ("sm_80", "compute_90"), "8.5", 8),
    ]
    assert [astuple(kernels) for kernels in found.kernels] == expected
