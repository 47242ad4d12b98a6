# SPDX-License-Identifier: Apache-2.0
"""Names and arguments that releases of NVFlare took away: of which release a job is, by those it uses.

moved.json has them; scripts/compare_nvflares.py makes it of NVFlare's own wheels.
"""

import functools
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from packaging.version import Version

from rekindle.records import Complaint


def gone(name: str, release: str, argument: str = "", others: Iterable[str] = ()) -> Complaint | None:
    """Return that a job which uses ``name`` is for an older NVFlare than ``release``; None if it may have it.

    Args:
        name: a module, or a name by the module that it is imported from: ``nvflare.recipe.SimEnv``.
        release: the host's.
        argument: the one that the name is called with; empty for the name itself.
        others: releases that a host can have instead.
    """
    since, now = _table().get(f"{name}({argument})" if argument else name) or _lent(name, argument)
    if not since or Version(since) > Version(release):
        return None
    called = f"{name.rpartition('.')[2]} took {argument}" if argument else f"it uses {name}"
    change = f"is {now} since then" if now else "is no more"
    message = f"This job is for an NVFlare older than {since}: {called}, which {change}."
    older = max((one for one in others if Version(one) < Version(since)), key=Version, default=None)
    fix = f"see what NVFlare {release} has instead"
    if now:
        home, _, own = now.rpartition(".")
        fix = f"write {now}= there" if argument else f"write from {home} import {own}"
    return Complaint(message, f"{fix}{f', or set rekindle_nvflare to {older}' if older else ''}.")


def _lent(name: str, argument: str) -> tuple[str, str]:
    """Return the entry of what a package lends from one of its modules."""
    package, _, own = name.rpartition(".")
    ends = f".{own}({argument})"
    keys = (key for key in _table() if key.startswith(f"{package}.") and key.endswith(ends))
    return _table()[key] if argument and (key := next(keys, "")) else ("", "")


@functools.cache
def _table() -> dict[str, tuple[str, str]]:
    data: dict[str, Any] = json.loads(files("rekindle.flare").joinpath("moved.json").read_bytes())
    return {key: (since, now) for key, (since, now) in data["gone"].items()}
