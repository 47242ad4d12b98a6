# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi reports of NVLink: which lanes are up, and their error counters."""

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
were corrected (FEC, raw), which healthy links have too."""
_FULL = (1 << 16) - 1
"""At which a counter of V100 stands still."""

Lanes = dict[str, list[bool]]
"""By UUID, whether each lane is up; none where no lane is."""
Errors = dict[str, dict[tuple[int, str], int]]
"""By UUID, what each lane counted under a name that is known here."""


def _lines(output: str) -> Iterator[tuple[str, str]]:
    """Yield each line with the UUID of the GPU that it is of."""
    uuid = ""
    for line in output.splitlines():
        if line.startswith("GPU "):
            uuid = line.partition("UUID: ")[2].strip(" )")
        elif uuid:
            yield uuid, line


def lanes(output: str) -> Lanes:
    """Return the lanes by ``nvidia-smi nvlink -s``; nothing of a GPU without NVLink."""
    by_gpu: Lanes = {}
    for uuid, line in _lines(output):
        if line.strip().startswith("Link "):
            by_gpu.setdefault(uuid, []).append("GB/s" in line)
        elif _NONE_UP in line.lower():
            by_gpu.setdefault(uuid, [])
    return by_gpu


def errors(output: str) -> Errors:
    """Return the counters by ``nvidia-smi nvlink -e``; nothing of a GPU whose counters are not known here."""
    by_gpu: Errors = {}
    for uuid, line in _lines(output):
        match = _COUNTER.fullmatch(line)
        if match and match[2] in _ERRORS:
            by_gpu.setdefault(uuid, {})[int(match[1]), match[2]] = int(match[3])
    return by_gpu


def up(by_gpu: Lanes, uuid: str, several: bool) -> list[dict[str, Any]]:
    """Return how many lanes of a GPU are up, if it has any; one alone has none to be up for."""
    mine = by_gpu.get(uuid)
    if mine is None or (not any(mine) and not several):
        return []
    message = f"{sum(mine)} of {len(mine)} lanes are up" if mine else "no lane is up"
    figure = {
        "name": "nvlinks_up",
        "gpu": uuid,
        "value": float(sum(mine)),
        "unit": "lanes",
        "message": message,
    }
    most = {"norm": float(len(mine)), "source": "nvidia-smi nvlink -s: the lanes that it has"}
    return [figure | most if mine else figure]


def counted(before: Errors, after: Errors, uuid: str) -> dict[str, Any]:
    """Return the errors that came meanwhile; earlier ones are of unknown age, and only reported."""
    figure: dict[str, Any] = {"name": "nvlink_errors", "gpu": uuid, "value": None, "unit": "errors"}
    first, last = before.get(uuid), after.get(uuid)
    if not first or not last:
        return figure | {"message": "nvidia-smi nvlink -e has no error counter of it that is known here"}
    new_errors = {}
    for counter, count in last.items():
        stood = first.get(counter, 0)
        if new := count if count == _FULL or count < stood else count - stood:
            new_errors[counter] = new
    details = "".join(
        f", link {lane}: {count} {name}" for (lane, name), count in sorted(new_errors.items())[:5]
    )
    message = (
        f"{sum(new_errors.values())} came meanwhile on {len({lane for lane, _ in last})} links, "
        f"{sum(first.values())} stood before{details}"
    )
    return figure | {"value": float(sum(new_errors.values())), "message": message}
