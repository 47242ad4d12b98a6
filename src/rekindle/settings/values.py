# SPDX-License-Identifier: Apache-2.0
"""A host's settings, and values as their author wrote them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class UnknownValue(str):
    """The reason why a setting's template cannot be evaluated."""

    __slots__ = ()


@dataclass(frozen=True)
class Settings:
    """A host's settings whose values are of their types."""

    values: Mapping[str, Any]
    """By setting; values of another type are left out."""
    called: Callable[[str], str]
    """Returns a setting's name as its author wrote it."""
    jobs: Path
    lists: tuple[str, ...] = ("rekindle_jobs",)
    """Settings that name the jobs of the play; the first has to name one."""

    @property
    def asked(self) -> list[str]:
        """The jobs that they name."""
        return [job for name in self.lists for job in self.values.get(name) or ()]


def format_value(value: Any) -> str:
    """Return ``value`` as its author wrote it."""
    if isinstance(value, (list, dict)):
        text = f"the {'list' if isinstance(value, list) else 'mapping'} {value}"
        return text if len(text) <= 100 else f"{text[:100]}…"
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
