"""The NVIDIA kernel driver of a host."""

from __future__ import annotations

import re

from rekindle.records import Driver

from .frames import Frames
from .system import digits, line

_MODULE = re.compile(r"Kernel Module\D{0,40}?\s(?:for \S{1,40}\s{1,8})?(\d{1,9}\.[\d.]{1,40})")


def driver(frames: Frames, smi_version: str | None, cuda: str | None) -> Driver | None:
    """Return what is loaded, as the first tells it that knows; None if nothing is.

    Args:
        frames: of the collector.
        smi_version: version that nvidia-smi gives.
        cuda: the same, of the newest CUDA that it runs.
    """
    proc = frames["driver-proc"].text
    module = _MODULE.search(proc)
    open_module = "Open Kernel Module" in proc if module else None
    newest = digits(cuda)
    if version := digits(line(frames, "driver-sys")):
        return Driver(
            version=version, source="/sys/module/nvidia/version", cuda=newest, open_module=open_module
        )
    if module and (version := digits(module[1])):
        return Driver(
            version=version, source="/proc/driver/nvidia/version", cuda=newest, open_module=open_module
        )
    version = digits(smi_version)
    return Driver(version=version, source="nvidia-smi", cuda=newest) if version else None
