"""Folders of this machine, as settings name them."""

from __future__ import annotations

from pathlib import Path

from rekindle.host.places import here

from .mistake import Mistake
from .names import near


def folders(folder: Path) -> list[str]:
    """Return the names of the folders in one; of one that cannot be read, none."""
    try:
        return [name for name in names(folder) if (folder / name).is_dir()]
    except OSError:
        return []


def names(folder: Path) -> list[str]:
    """Return what a folder has; of one that cannot be read, nothing."""
    try:
        return [path.name for path in folder.iterdir()]
    except (OSError, ValueError):
        return []


def missing(name: str, value: str) -> Mistake | None:
    """Return the mistake that ``value`` is not a folder of this machine."""
    folder = here(value)
    try:
        if folder.is_dir():
            return None
    except OSError:
        pass  # one that may not be looked into, or a name longer than names are
    meant = near(folder.name, folders(folder.parent))
    fix = f"write {folder.with_name(meant)}." if meant else "name one that is."
    return Mistake(name, f"{name} is {value!r}, and {folder} is not a folder here.", fix)
