# SPDX-License-Identifier: Apache-2.0
"""Rooms of the package that bring a kind of their own, each in a module or file of the same name."""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Traversable

_PACKAGE = __package__.rpartition(".")[0]


@cache
def load_rooms(module: str) -> tuple[ModuleType, ...]:
    """Return the ``module`` of each room that has one, by the rooms' names."""
    return tuple(load_room(room, module) for room in _find_in_rooms(f"{module}.py"))


def read_rooms(file: str) -> list[bytes]:
    """Return the content of the ``file`` of each room that has one, by the rooms' names."""
    return [found.read_bytes() for found in _find_in_rooms(file).values()]


def _find_in_rooms(file: str) -> "dict[str, Traversable]":
    from importlib.resources import files  # noqa: PLC0415  # the package may be a zip; this takes long to import

    found = {room.name: room / file for room in files(_PACKAGE).iterdir()}
    return {room: found[room] for room in sorted(found) if found[room].is_file()}


def load_room(room: str, module: str) -> ModuleType:
    """Return the ``module`` of one room.

    Raises:
        ImportError: it has none.
    """
    return import_module(f"{_PACKAGE}.{room}.{module}")
