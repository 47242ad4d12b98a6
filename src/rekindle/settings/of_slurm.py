"""What is wrong with the allocation that a host's runs are to have."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.host.batch import is_ours
from rekindle.records import RecordError, Slurm, convert

from .mistake import Mistake, Settings


def slurm(settings: Settings) -> Iterator[Mistake]:
    """Hold ``rekindle_slurm`` to what can be asked for."""
    name = "rekindle_slurm"
    value = settings.values.get(name)
    if not value:
        return
    if isinstance(value.get("time"), int):
        says = f"{name} has the time {value['time']}, as YAML reads 12:00:00 as a number of seconds."
        yield Mistake(name, says, "write it in quotes, such as '12:00:00'.")
        return
    try:
        wanted = convert(value, Slurm)
    except RecordError as error:
        fix = "write it as {partition: gpu, nodes: 2, gpus_per_node: 8, time: '02:00:00'}."
        yield Mistake(name, f"{name} cannot be asked of SLURM: {error.says}.", fix)
        return
    for option in wanted.extra:
        if is_ours(option):
            says = f"{name} has {option} in extra, which each batch script sets itself."
            yield Mistake(name, says, "leave it out; what can be chosen has a name of its own there.")
