"""A host's settings, and a value as whoever wrote it knows it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Unknown(str):
    """Why a setting has no value: its template cannot be evaluated."""

    __slots__ = ()


@dataclass(frozen=True)
class Settings:
    """What a host is set to, as far as each value is of its type."""

    values: Mapping[str, Any]
    """By setting, of its type; those that are not are left out."""
    called: Callable[[str], str]
    """A setting's name as whoever set it wrote it."""
    jobs: Path
    """Folder of the jobs."""


def shown(value: Any) -> str:
    """Return ``value`` as whoever wrote it knows it."""
    if isinstance(value, (list, dict)):
        text = f"the {'list' if isinstance(value, list) else 'mapping'} {value}"
        return text if len(text) <= 100 else f"{text[:100]}…"
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
