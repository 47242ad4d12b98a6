# SPDX-License-Identifier: Apache-2.0
"""Libraries that TensorFlow's wheel does not look for are found where it looks."""

import pytest

from rekindle.environments.libraries import link_libraries

OF_2_19 = b"\0$ORIGIN/../nvidia/cublas/lib:$ORIGIN/../nvidia/cusolver/lib:$ORIGIN/../nvidia/cusparse/lib\0"
OF_2_21 = OF_2_19.replace(b"$ORIGIN/../nvidia/cusolver/lib:", b"")


@pytest.fixture
def packages(tmp_path):
    """Return site-packages with libraries of NVIDIA's wheels, and no TensorFlow."""
    for name, version in {"cusolver": 11, "cusparse": 12, "cublas": 12}.items():
        folder = tmp_path / "nvidia" / name / "lib"
        folder.mkdir(parents=True)
        (folder / f"lib{name}.so.{version}").write_text(name)
    return tmp_path


def install(packages, rpath):
    (packages / "tensorflow").mkdir()
    (packages / "tensorflow/libtensorflow_framework.so.2").write_bytes(b"\x7fELF" + rpath)


def linked(packages):
    return {path.name for path in packages.rglob("*") if path.is_symlink()}


def test_one_that_its_rpath_leaves_out_is_linked_into_a_folder_that_is_in_it(packages):
    install(packages, OF_2_21)
    link_libraries(packages)
    assert linked(packages) == {"libcusolver.so.11"}
    found = packages / "nvidia/cusparse/lib/libcusolver.so.11"
    assert (found.read_text(), found.readlink().is_absolute()) == ("cusolver", False)


@pytest.mark.parametrize("rpath", [OF_2_19, None], ids=["looks for all", "no TensorFlow"])
def test_nothing_is_linked_where_nothing_is_missing(packages, rpath):
    if rpath:
        install(packages, rpath)
    link_libraries(packages)
    assert linked(packages) == set()
