# SPDX-License-Identifier: Apache-2.0
"""Names and arguments that releases of NVFlare took or brought: of which a job is, by those it uses.

moved.json has them; scripts/compare_nvflares.py makes it of NVFlare's own wheels.
"""

import functools
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

from packaging.version import Version

from rekindle.records import Complaint


class Span(NamedTuple):
    """The releases that have a name or an argument."""

    since: str
    """The first that has it; empty where the oldest that are known have it."""
    until: str
    """The first that has it no more; empty where the newest has it."""
    last: str
    """The last that has it, if there is one."""
    now: str
    """What took its place: a name by its module, or an argument; empty where nothing did."""


def find_span(name: str, argument: str = "") -> Span | None:
    """Return which releases have ``name``; None if all have it, or none.

    Args:
        name: a module, a name by the module that it is imported from (``nvflare.recipe.SimEnv``), or the name
            of a class alone where an argument is asked for.
        argument: the one that the name is called with; empty for the name itself.
    """
    known = _spans()
    key = f"{name}({argument})" if argument else name
    return known.get(key) or (known.get(_lent(name, argument)) if argument else None)


def describe_gone(
    name: str, release: str, argument: str = "", others: Iterable[str] = ()
) -> Complaint | None:
    """Return that a job which uses ``name`` is for an older NVFlare than ``release``; None if it may have it.

    Args:
        name: a module, or a name by the module that it is imported from.
        release: the host's.
        argument: the one that the name is called with; empty for the name itself.
        others: releases that a host can have instead.
    """
    found = find_span(name, argument)
    if found is None or not found.until or Version(found.until) > Version(release):
        return None
    since, now = found.until, found.now
    called = f"{name.rpartition('.')[2]} took {argument}" if argument else f"it uses {name}"
    change = f"is {now} since then" if now else "is no more"
    message = f"This job is for an NVFlare older than {since}: {called}, which {change}."
    older = max((one for one in others if Version(one) < Version(since)), key=Version, default=None)
    fix = f"see what NVFlare {release} has instead"
    if now:
        home, _, own = now.rpartition(".")
        fix = f"write {now}= there" if argument else f"write from {home} import {own}"
    return Complaint(message, f"{fix}{f', or set rekindle_nvflare to {older}' if older else ''}.")


def _lent(name: str, argument: str) -> str:
    """Return the key of an argument of what a package lends from one of its modules."""
    package, _, own = name.rpartition(".")
    ends = f".{own}({argument})"
    return next((key for key in _spans() if key.startswith(package) and key.endswith(ends)), "")


@functools.cache
def _spans() -> dict[str, Span]:
    data = json.loads(files("rekindle.flare").joinpath("moved.json").read_bytes())
    came: dict[str, str] = data["came"]
    gone: dict[str, tuple[str, str]] = data["gone"]
    releases: list[str] = data["releases"]
    before = dict(zip(releases[1:], releases, strict=False))
    spans = {key: Span(since, "", "", "") for key, since in came.items()}
    for key, (until, now) in gone.items():
        spans[key] = Span(came.get(key, ""), until, before[until], now)
    return spans
