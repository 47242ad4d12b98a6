"""NVIDIA's libraries in wheels of their own, where TensorFlow's wheel does not look for them.

libtensorflow_framework.so opens each by its name and finds it by its RPATH. That of 2.21.0 lacks
nvidia/cusolver/lib, which those of 2.15.1, 2.17.1 and 2.19.1 have: on two H200s it said "Cannot dlopen some
GPU libraries" and saw none.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_LOOKED_IN = "nvidia/cusparse/lib"
"""Every TensorFlow looks there."""


def link(packages: Path) -> None:
    """Link libraries that TensorFlow would not find into a folder in which it looks.

    What they need themselves lies where it did: their own RPATH begins at the link, which is as deep.

    Args:
        packages: site-packages of an environment, with TensorFlow or not.
    """
    target = packages / _LOOKED_IN
    if not target.is_dir():
        return
    for framework in packages.glob("tensorflow/libtensorflow_framework.so.*"):
        with framework.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as code:
            for library in sorted(packages.glob("nvidia/*/lib/*.so.*")):
                looked = code.find(f"/{library.parent.relative_to(packages)}".encode()) >= 0
                if not looked and not (target / library.name).exists():
                    (target / library.name).symlink_to(os.path.relpath(library, target))
