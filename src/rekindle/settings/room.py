# SPDX-License-Identifier: Apache-2.0
"""What a room adds to the settings, by its module ``settings``, whose ``SETTINGS`` is a `RoomSettings`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rekindle.host.rooms import load_rooms
from rekindle.records import Complaint


@dataclass(frozen=True)
class RoomSettings:
    """The settings of a room; one that joins hosts also has what a play over them needs."""

    check: Callable[[Mapping[str, Any], str], Iterable[Complaint]] = lambda values, role: ()
    """Yields the mistakes in a host's settings, by its role in a play over several hosts, or none."""
    stage: str = ""
    """The role of the collection that runs jobs over several hosts."""
    jobs: str = ""
    """The setting that names those jobs."""
    find_role: Callable[[Collection[str]], str] = lambda groups: ""
    """Returns what a host in these groups of the inventory is in such a play."""
    check_groups: Callable[[Mapping[str, Sequence[str]]], Iterable[str]] = lambda groups: ()
    """Yields a sentence for each mistake in the names of hosts by group."""


def list_rooms(stages: Collection[str] | None = None) -> list[RoomSettings]:
    """Return what the rooms add, or those alone that join the hosts of a play with these ``stages``."""
    found: list[RoomSettings] = [room.SETTINGS for room in load_rooms("settings")]
    return found if stages is None else [room for room in found if room.stage in stages]


def find_group_mistakes(groups: Mapping[str, Sequence[str]], stages: Collection[str]) -> list[str]:
    """Return a sentence for each mistake in the inventory's groups: names of hosts by group.

    Args:
        groups: all of the inventory.
        stages: roles of the play.
    """
    return [mistake for room in list_rooms(stages) for mistake in room.check_groups(groups)]
