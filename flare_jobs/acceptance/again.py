# SPDX-License-Identifier: Apache-2.0
"""Look again at what is worse than it should be, as what crosses PCIe depends on who else uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import smi

_PAUSE_S = 15.0
"""Before the third look and the fourth: copies over PCIe are slow for some tens of seconds at a time."""
_LATER = 3
"""Looks after the first; ``rekindle.acceptance.looks`` expects as many."""
_EVALUATED_S = 60.0
LOOK_S = 60.0
"""That a look may take; it takes about 8."""

Figures = list[dict[str, Any]]


def seen(
    began: float, before: smi.Report, after: smi.Report, load: float, uuids: list[str]
) -> dict[str, Any]:
    """Return a Look: who else used these GPUs before and after it, with the ``load`` before it."""
    return {
        "seconds": round(began, 2),
        "load": load,
        "cpus": os.cpu_count() or 1,
        "before": [smi.use(before.gpus[uuid]) for uuid in uuids],
        "after": [smi.use(after.gpus[uuid]) for uuid in uuids],
    }


def worse(record: dict[str, Any]) -> list[str]:
    """Return the names of what in ``record`` is worse than it should be.

    The driver's environment has what evaluates it; by hand, without a driver, nothing is evaluated here.
    """
    driver = os.environ.get("REKINDLE_DRIVER")
    if driver is None:
        return []
    command = [driver, "-m", "rekindle.acceptance.looks"]
    done = subprocess.run(
        command, input=json.dumps(record), capture_output=True, text=True, check=False, timeout=_EVALUATED_S
    )
    if done.returncode:
        sys.exit(f"The figures cannot be evaluated: {done.stderr.strip()[-500:]}")
    names: list[str] = json.loads(done.stdout)
    return names


def look_again(
    record: dict[str, Any], look: Callable[[list[str]], tuple[dict[str, Any], Figures]], ends: float
) -> None:
    """Add up to three looks at what is worse than it should be, until the newest of each is not.

    The second is at once, as most are good again by then. A figure that is still low waits before the next.

    Args:
        record: an AcceptanceRecord with its first look.
        look: measures these names, alone; returns a Look and its figures.
        ends: on the monotonic clock, when all has to be done.
    """
    names = worse(record)
    for number in range(_LATER):
        pause = _PAUSE_S if number else 0.0
        if not names or time.monotonic() + pause + LOOK_S > ends:
            return
        words = f"Worse than it should be: {', '.join(names)}. "
        print(f"{words}Look {number + 1} of {_LATER} in {pause:.0f} s.", flush=True)
        time.sleep(pause)
        circumstances, figures = look(names)
        record["looks"].append(circumstances)
        _add(record["measurements"], figures)
        names = worse(record)


def _add(known: Figures, figures: Figures) -> None:
    """Add later figures to the known ones of the same name, GPU, peer and size, in their order."""
    later = _by_thing(figures)
    for thing, same in _by_thing(known).items():
        for figure, again in zip(same, later.get(thing, ()), strict=False):
            if figure["value"] is not None and again["value"] is not None:
                figure.setdefault("again", []).append({"value": again["value"]})


def _by_thing(figures: Iterable[dict[str, Any]]) -> dict[tuple[Any, ...], Figures]:
    things: dict[tuple[Any, ...], Figures] = {}
    for figure in figures:
        thing = tuple(figure.get(field) for field in ("name", "gpu", "peer", "size"))
        things.setdefault(thing, []).append(figure)
    return things
