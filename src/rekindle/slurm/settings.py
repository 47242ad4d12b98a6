# SPDX-License-Identifier: Apache-2.0
"""The setting ``rekindle_slurm``: what each job of a host asks SLURM for."""

from collections.abc import Iterator, Mapping
from typing import Any

from rekindle.records import Allocation, Complaint, RecordError
from rekindle.records.misfits import convert_written
from rekindle.settings.room import RoomSettings

from .batch import is_own_option

_NAME = "rekindle_slurm"


def read_setting(value: Mapping[str, Any]) -> Allocation:
    """Return what the setting asks for.

    Raises:
        RecordError: SLURM cannot be asked for that.
    """
    if "room" in value:
        raise RecordError("`room` is no field", "leave it out.")
    return convert_written({"room": "slurm", **value}, Allocation)


def find_allocation_mistakes(values: Mapping[str, Any], role: str) -> Iterator[Complaint]:
    """Yield the mistakes in the setting.

    Args:
        values: the host's settings.
        role: ``server`` or ``site`` in the play's federation; nothing outside of one.
    """
    value = values.get(_NAME)
    if not value:
        return
    if isinstance(value.get("time"), int):
        message = f"{_NAME} has the time {value['time']}, as YAML reads 12:00:00 as a number of seconds."
        yield Complaint(message, "write it in quotes, such as '12:00:00'.")
        return
    try:
        wanted = read_setting(value)
    except RecordError as error:
        fix = "write it as {partition: gpu, nodes: 2, gpus_per_node: 8, time: '02:00:00'}."
        yield Complaint(f"{_NAME} cannot be asked of SLURM: {error.message}.", fix)
        return
    for option in wanted.extra:
        if is_own_option(option):
            message = f"{_NAME} has {option} in extra, which each batch script sets itself."
            yield Complaint(message, "leave it out; settings that you may choose have their own keys there.")
    if role == "server":
        message = f"{_NAME} is set for a federation's server, whose address sites have to know."
        yield Complaint(message, "name another host as the server; a site may be a login node.")
    elif role == "site":
        if wanted.nodes > 1:
            message = f"{_NAME} asks for {wanted.nodes} nodes, and a federation's site is on one."
            yield Complaint(message, "ask for nodes: 1.")
        if values.get("rekindle_federation_keep"):
            message = f"rekindle_federation_keep is true, and {_NAME} gives nodes to jobs alone."
            yield Complaint(message, "leave one of the two out.")


SETTINGS = RoomSettings(check=find_allocation_mistakes)
