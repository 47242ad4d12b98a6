# SPDX-License-Identifier: Apache-2.0
"""The names of settings, jobs and folders that a user writes, and similar known names."""

import difflib
from collections.abc import Collection, Iterable
from pathlib import Path

SHORT = ("budget", "lease_ends", "rerun", "stop")
"""Settings that ``-e`` may name without ``rekindle_``."""
PREFIX = "rekindle_"
_NEAR = 0.8
"""Least difflib ratio: one letter in five is added, missing or changed."""
_NEARER = 0.6
"""Least ratio for settings without their prefix."""


def find_misnamed(given: Iterable[str], known: Collection[str]) -> list[tuple[str, str]]:
    """Return each variable that looks like a setting and is not, with the similar setting or "".

    Args:
        given: names of the host's variables; most do not concern us.
        known: names of the settings.
    """
    read, found = {*known, *SHORT}, []
    for name in sorted(set(given) - read):
        plain = name.casefold().replace("-", "_")
        alike = [setting for setting in sorted(read) if setting[0] == plain[:1]]
        close = difflib.get_close_matches(plain, alike, n=1, cutoff=_NEAR)
        if close or name.startswith(PREFIX):
            found.append((name, next((setting for setting in close if _meant(plain, setting)), "")))
    return found


def _meant(plain: str, setting: str) -> bool:
    """Whether the two are also near without the prefix, which every setting has."""
    same = sum(block.size for block in difflib.SequenceMatcher(None, plain, setting).get_matching_blocks())
    prefix = len(PREFIX) if setting.startswith(PREFIX) else 0
    return 2 * (same - prefix) >= _NEARER * (len(plain) + len(setting) - 2 * prefix)


def list_folder(folder: Path) -> list[str]:
    """Return the names in a folder; nothing if it cannot be read."""
    try:
        return [path.name for path in folder.iterdir()]
    except (OSError, ValueError):
        return []


def is_folder(path: Path) -> bool:
    """Whether that is a folder here; false if it cannot be read, or its name is too long."""
    try:
        return path.is_dir()
    except OSError:
        return False
