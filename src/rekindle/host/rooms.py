# SPDX-License-Identifier: Apache-2.0
"""Rooms of the package that bring a kind of their own, each in a module of the same name."""

from functools import cache
from importlib import import_module
from types import ModuleType

_PACKAGE = __package__.rpartition(".")[0]


@cache
def load_rooms(module: str) -> tuple[ModuleType, ...]:
    """Return the ``module`` of each room that has one, by the rooms' names."""
    from importlib.resources import files  # noqa: PLC0415  # the package may be a zip; this takes long to import

    rooms = sorted(room.name for room in files(_PACKAGE).iterdir() if (room / f"{module}.py").is_file())
    return tuple(load_room(room, module) for room in rooms)


def load_room(room: str, module: str) -> ModuleType:
    """Return the ``module`` of one room.

    Raises:
        ImportError: it has none.
    """
    return import_module(f"{_PACKAGE}.{room}.{module}")
