# SPDX-License-Identifier: Apache-2.0
"""A stand-in for python-build-standalone's archives: this machine's own Python."""

import hashlib
import platform
import shutil
import sysconfig
from pathlib import Path

from .machine import run

_LEFT_OUT = ("test", "idlelib", "tkinter", "turtledemo", "__pycache__", "config-*", "site-packages")


def stand_in(folder: Path) -> str:
    """Make an archive of the Python that runs this; return ``rekindle_python_archive`` for it."""
    version, minor = platform.python_version(), sysconfig.get_python_version()
    source, home = Path(sysconfig.get_config_var("prefix")), folder / "python"
    library = home / "lib" / f"python{minor}"
    shutil.copytree(source / "lib" / library.name, library, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for shared in (source / "lib").glob(f"libpython{minor}.so*"):
        shutil.copy2(shared, home / "lib")
    (home / "bin").mkdir()
    program = home / "bin" / f"python{minor}"
    shutil.copy2(source / "bin" / program.name, program)
    (home / "bin" / "python3").symlink_to(program.name)
    run("patchelf", "--set-rpath", "$ORIGIN/../lib", program)
    machine = platform.machine()
    archive = folder / f"cpython-{version}+20261110-{machine}-unknown-linux-gnu-install_only.tar.gz"
    same = ("--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner")  # the next time
    run("tar", "-C", folder, *same, "--use-compress-program=gzip -n", "-cf", archive, "python")
    return f"{archive}#sha256={hashlib.sha256(archive.read_bytes()).hexdigest()}"
