# SPDX-License-Identifier: Apache-2.0
"""The clock of one host: all hosts have the kernel's, and clock.c comes between it and a host's programs.

libfaketime 0.9.10 is no use here: Python's sleep hangs with it, and sshd's sandbox kills it.
"""

from pathlib import Path

from .host import Host
from .machine import run

_SOURCE = Path(__file__).with_suffix(".c")


def set_clock(host: Host, seconds: int) -> None:
    """Have what starts on the host from now on read a clock that is so far ahead; 0 sets it right.

    Raises:
        LabError: there is no compiler.
    """
    preloaded = host.root / "etc/ld.so.preload"
    preloaded.unlink(missing_ok=True)
    if seconds:
        library = Path("usr/lib/lab-clock.so")
        run("gcc", "-shared", "-fPIC", "-O", f"-DSECONDS={seconds}", "-o", host.root / library, _SOURCE)
        preloaded.write_text(f"/{library}\n")
