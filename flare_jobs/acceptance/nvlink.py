"""What nvidia-smi tells of NVLink: which lanes are up, and the errors that they counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_NONE_UP = "all links are inactive"
_COUNTER = re.compile(r"\s*Link (\d{1,3}): ([^:]+): (\d{1,20})\s*")
_ERRORS = {
    *("Replay Errors", "Recovery Errors", "CRC Errors"),
    *("Malformed packet Errors", "Buffer overrun Errors", "Local link integrity Errors", "Tx discards"),
    *("Rx Errors", "Rx remote Errors", "Rx General Errors", "Effective Errors", "Symbol Errors"),
    *("Link recovery successful events", "Link recovery failed events"),
}
"""Up to Hopper the first three; from Blackwell on the others, beside bit error rates, sums, and errors that
were corrected (FEC, raw), of which a healthy link has many."""
_FULL = (1 << 16) - 1
"""At which a counter of V100 stands still."""

Lanes = dict[str, list[bool]]
"""By UUID, whether each lane is up; none where no lane is."""
Errors = dict[str, dict[tuple[int, str], int]]
"""By UUID, what each lane counted under a name that is known here."""


def _lines(said: str) -> Iterator[tuple[str, str]]:
    """Yield each line with the UUID of the GPU that it is of."""
    uuid = ""
    for line in said.splitlines():
        if line.startswith("GPU "):
            uuid = line.partition("UUID: ")[2].strip(" )")
        elif uuid:
            yield uuid, line


def lanes(said: str) -> Lanes:
    """Return what ``nvidia-smi nvlink -s`` tells; nothing of a GPU without NVLink."""
    by_gpu: Lanes = {}
    for uuid, line in _lines(said):
        if line.strip().startswith("Link "):
            by_gpu.setdefault(uuid, []).append("GB/s" in line)
        elif _NONE_UP in line.lower():
            by_gpu.setdefault(uuid, [])
    return by_gpu


def errors(said: str) -> Errors:
    """Return what ``nvidia-smi nvlink -e`` tells; nothing of a GPU whose counters are not known here."""
    by_gpu: Errors = {}
    for uuid, line in _lines(said):
        match = _COUNTER.fullmatch(line)
        if match and match[2] in _ERRORS:
            by_gpu.setdefault(uuid, {})[int(match[1]), match[2]] = int(match[3])
    return by_gpu


def up(by_gpu: Lanes, uuid: str, several: bool) -> list[dict[str, Any]]:
    """Return how many lanes of a GPU are up, if it has any; one alone has none to be up for."""
    mine = by_gpu.get(uuid)
    if mine is None or (not any(mine) and not several):
        return []
    says = f"{sum(mine)} of {len(mine)} lanes are up" if mine else "no lane is up"
    figure = {"name": "nvlinks_up", "gpu": uuid, "value": float(sum(mine)), "unit": "lanes", "says": says}
    most = {"norm": float(len(mine)), "source": "nvidia-smi nvlink -s: the lanes that it has"}
    return [figure | most if mine else figure]


def counted(before: Errors, after: Errors, uuid: str) -> dict[str, Any]:
    """Return the errors that came meanwhile; those that stood before are of unknown age, and only told."""
    figure: dict[str, Any] = {"name": "nvlink_errors", "gpu": uuid, "value": None, "unit": "errors"}
    first, last = before.get(uuid), after.get(uuid)
    if not first or not last:
        return figure | {"says": "nvidia-smi nvlink -e tells no error counter of it that is known here"}
    new_errors = {}
    for counter, count in last.items():
        stood = first.get(counter, 0)
        if new := count if count == _FULL or count < stood else count - stood:
            new_errors[counter] = new
    details = "".join(
        f", link {lane}: {count} {name}" for (lane, name), count in sorted(new_errors.items())[:5]
    )
    says = (
        f"{sum(new_errors.values())} came meanwhile on {len({lane for lane, _ in last})} links, "
        f"{sum(first.values())} stood before{details}"
    )
    return figure | {"value": float(sum(new_errors.values())), "says": says}
