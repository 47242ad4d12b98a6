# SPDX-License-Identifier: Apache-2.0
"""Collector's answers to read: a real one (2 × H200) and variants of it."""

from pathlib import Path

from rekindle.hostfacts import make_host_record
from rekindle.hostfacts.frames import Frame, parse_frames

RECORDINGS = Path(__file__).parents[2] / "recordings"
NONCE = "0123456789abcdef"
RAW = (RECORDINGS / "h200-x2-collect.txt").read_text()
FRAMES = parse_frames(RAW, NONCE)
XML = FRAMES["nvidia-smi"].text
"""Of the same host."""


def recorded(name):
    """Return a file of tests/recordings."""
    return (RECORDINGS / name).read_text()


def frames(**changed):
    """Return the recorded frames with some replaced; ``_`` stands for ``-``, text alone for success."""
    replaced = {
        name.replace("_", "-"): Frame("0", frame) if isinstance(frame, str) else frame
        for name, frame in changed.items()
    }
    assert replaced.keys() <= {*FRAMES, "nvidia-list"}
    return {**FRAMES, **replaced}


def answer(**changed):
    """Return the recorded answer with some frames replaced."""
    return "".join(
        f"@@{NONCE} {name} {frame.status}\n{frame.text}\n" for name, frame in frames(**changed).items()
    )


def host(**changed):
    """Return the record of the recorded host with some frames replaced."""
    return make_host_record(parse_frames(answer(**changed), NONCE), "lease-1", "~/rekindle")
