"""The names of settings, jobs and folders that a user writes, and those that they are near to."""

import difflib
from collections.abc import Collection, Iterable
from pathlib import Path

SHORT = ("budget", "lease_ends", "rerun", "stop")
"""What ``-e`` may call a setting that ``rekindle_`` begins with."""
PREFIX = "rekindle_"
_NEAR = 0.8
"""Of difflib's ratio: one letter more, less or other in five."""
_NEARER = 0.6
"""Of those that have to be one of a few, and of what follows the prefix of a setting."""


def misnamed(given: Iterable[str], known: Collection[str]) -> list[tuple[str, str]]:
    """Return each variable that looks like a setting and is none, with the one that it is near to or "".

    Args:
        given: names of the host's variables, of which most are no business of ours.
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


def near(word: str, known: Iterable[str]) -> str:
    """Return the one of ``known`` that ``word`` is nearly written as, or ""."""
    plain = {name.casefold(): name for name in known}
    matches = difflib.get_close_matches(word.casefold(), plain, n=1, cutoff=_NEARER)
    return plain[matches[0]] if matches else ""


def instead(word: str, known: Iterable[str]) -> str:
    """Return what to do where ``word`` is none of ``known``: the near one, or all of them."""
    names = list(known)
    meant = near(word, names)
    return f"write {meant}." if meant else f"name one of {', '.join(names)}."


def content(folder: Path) -> list[str]:
    """Return the names of what is in a folder; of one that cannot be read, nothing."""
    try:
        return [path.name for path in folder.iterdir()]
    except (OSError, ValueError):
        return []


def is_folder(path: Path) -> bool:
    """Whether that is a folder here; false for one that may not be looked into, or with too long a name."""
    try:
        return path.is_dir()
    except OSError:
        return False
