# SPDX-License-Identifier: Apache-2.0
"""The container engines of a host, from the collector's frames."""

import re
from typing import get_args

from rekindle.gpus.models import parse_version
from rekindle.records import Engine
from rekindle.records.host import EngineName

from .frames import Frame, Frames

_VERSION = re.compile(r"(?:version=|(?:podman|apptainer) version )(\d\S*?)(?: runtimes=(.*))?")
_CDI = {"docker": "28.3", "podman": "4.1"}
"""The first version that gives a GPU by CDI without any setting."""


def read_engines(frames: Frames) -> tuple[Engine, ...]:
    """Return the container engines, whether or not they answer, in the order in which they are preferred."""
    gives = frames.get("containers", Frame("127", "")).text.split("\n")
    found = (_engine(name, frames.get(name, Frame("127", "")), gives) for name in get_args(EngineName))
    return tuple(filter(None, found))


def _engine(name: EngineName, frame: Frame, gives: list[str]) -> Engine | None:
    path, *lines = [line.strip() for line in frame.text.splitlines() if line.strip()] or [""]
    podmans = name == "docker" and any("podman" in line or "define.Info" in line for line in lines)
    if not path.startswith("/") or podmans:
        return None
    known = next((match for line in lines if (match := _VERSION.fullmatch(line))), None)
    if not frame.answered or known is None:
        words = [line for line in lines if not line.startswith("version=")]
        late = frame.late or frame.status == "124"
        message = "it gave no answer in time" if late else (words[-1] if words else f"status {frame.status}")
        return Engine(name=name, path=path, version=None, message=message[:200].rstrip(".?"))
    toolkit = "nvidia" in (known[2] or "").split() or any("/nvidia-" in line for line in gives)
    specified = any("/cdi/" in line for line in gives)
    newest = name in _CDI and parse_version(known[1]) >= parse_version(_CDI[name])
    unmapped = name == "podman" and "no subuids" in gives
    return Engine(
        name=name,
        path=path,
        version=known[1],
        message="it has no subordinate ids in /etc/subuid" if unmapped else None,
        nvidia=name == "docker" and toolkit,
        cdi=specified and newest,
    )
