# SPDX-License-Identifier: Apache-2.0
"""Runs over several hosts, joined of what each sent; a room registers a kind by its module ``joint``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rekindle.host.rooms import load_rooms


@dataclass(frozen=True)
class Joint:
    """Such runs of one kind, which lie beside the hosts' folders as if they were of one more host."""

    folder: str
    """The name of that host, and of its folder."""
    stage: str
    """The last of their play's stages, which begin with the first of site.yml's."""
    title: str
    """What their jobs are called: ``jobs of the …``."""
    begins: Mapping[str, str]
    """The stage that goes on once a host has a record, in their order."""


@cache
def list_joints() -> tuple[Joint, ...]:
    """Return all kinds."""
    return tuple(room.JOINT for room in load_rooms("joint"))


def is_joint(host: str) -> bool:
    """Whether the folder of that ``host`` has runs over several."""
    return any(kind.folder == host for kind in list_joints())


def is_joint_stage(stage: str | None) -> bool:
    """Whether a ``stage`` runs jobs over several hosts."""
    return any(kind.stage == stage for kind in list_joints())
