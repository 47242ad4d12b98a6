# SPDX-License-Identifier: Apache-2.0
"""A stand-in nvidia-smi on a host, which replays what a host with two H200s said, or a variant of it."""

import shutil
from pathlib import Path

from rekindle.hostfacts.frames import parse_frames

from .host import Host

_RECORDING = Path(__file__).parents[1] / "recordings" / "h200-x2-collect.txt"
_CALLS = ("nvidia-smi", "nvidia-query", "nvidia-topo", "nvidia-nvlink")

FAULTS = (
    "hangs",
    "exits-9",
    "no-figures",
    "gpu-lost",
    "ecc-errors",
    "row-remap-pending",
    "throttled",
    "driver-mismatch",
    "old-driver",
)
"""What the stand-in can be told to do; the file itself says how."""


def give_gpus(host: Host, fault: str | None = None) -> None:
    """Put the stand-in on the host, in health or with one of FAULTS.

    Raises:
        ValueError: there is no such fault.
    """
    if fault is not None and fault not in FAULTS:
        raise ValueError(f"There is no fault {fault!r}. Fix: name one of {', '.join(FAULTS)}.")
    text = _RECORDING.read_text()
    frames = parse_frames(text, text.split(maxsplit=1)[0].removeprefix("@@"))
    recordings, switch = host.root / "usr/share/rekindle-lab", host.root / "etc/rekindle-lab/nvidia-smi"
    for folder in (recordings, switch.parent):
        folder.mkdir(exist_ok=True)
    for call in _CALLS:
        (recordings / call).write_text(frames[call].text)
    shutil.copy(Path(__file__).with_name("nvidia-smi"), host.root / "usr/local/bin/nvidia-smi")
    switch.write_text(f"{fault or ''}\n")
