# SPDX-License-Identifier: Apache-2.0
"""Links NVIDIA's libraries from their own wheels to where TensorFlow's wheel finds them.

libtensorflow_framework.so opens each by its name and finds it by its RPATH. In 2.21.0 that lacks
nvidia/cusolver/lib, which 2.15.1, 2.17.1 and 2.19.1 have: on two H200s it logged "Cannot dlopen some GPU
libraries" and saw no GPU.
"""

import mmap
import os
from pathlib import Path

_IN_RPATH = "nvidia/cusparse/lib"
"""Every TensorFlow's RPATH has it."""


def link_libraries(packages: Path) -> None:
    """Link libraries that TensorFlow would not find into a folder of its RPATH.

    Their own RPATH, which begins at the link, still works, as the link is as deep as the library.

    Args:
        packages: site-packages of an environment, with TensorFlow or not.
    """
    target = packages / _IN_RPATH
    if not target.is_dir():
        return
    for framework in packages.glob("tensorflow/libtensorflow_framework.so.*"):
        with framework.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as code:
            for library in sorted(packages.glob("nvidia/*/lib/*.so.*")):
                known = code.find(f"/{library.parent.relative_to(packages)}".encode()) >= 0
                if not known and not (target / library.name).exists():
                    (target / library.name).symlink_to(os.path.relpath(library, target))
