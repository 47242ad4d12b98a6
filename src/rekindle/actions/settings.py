"""The names that a user gives settings."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from rekindle.records import Complaint

SHORT = ("budget", "lease_ends", "rerun", "stop")
"""What ``-e`` may call a setting that ``rekindle_`` begins with."""
_PREFIX = "rekindle_"
_NEAR = 0.8
"""Of difflib's ratio: one letter more, less or other in five."""


def misnamed(given: Iterable[str], known: Collection[str]) -> list[Complaint]:
    """Complain of each variable that looks like a setting and is none.

    Args:
        given: names of the host's variables, of which most are no business of ours.
        known: names of the settings.
    """
    read, complaints = {*known, *SHORT}, []
    for name in sorted(set(given) - read):
        plain = name.casefold().replace("-", "_")
        alike = [known_name for known_name in sorted(read) if known_name[0] == plain[:1]]
        near = difflib.get_close_matches(plain, alike, n=1, cutoff=_NEAR)
        if near or name.startswith(_PREFIX):
            fix = f"write {near[0]}" if near else "remove it"
            complaints.append(
                Complaint(f"{name} is set, which is not a setting.", f"{fix} (see roles/settings).")
            )
    return complaints
