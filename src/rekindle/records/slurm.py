"""What a host's runs ask SLURM for: ``rekindle_slurm``, as an inventory has it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .base import Few, Record, decodable

_Word = Annotated[str, Meta(pattern=r"^[^\s,]+\Z", max_length=255)]
_Time = Annotated[str, Meta(pattern=r"^(?:\d{1,3}-)?\d{1,3}:[0-5]\d:[0-5]\d\Z", max_length=16)]


@decodable
class Slurm(Record, kw_only=True, frozen=True):
    """An allocation, under the names of sbatch's options."""

    partition: _Word
    nodes: Annotated[int, Meta(ge=1, le=1_000)] = 1
    gpus_per_node: Annotated[int, Meta(ge=0, le=1_000)] = 0
    time: _Time
    """``hours:minutes:seconds``, also after ``days-``."""
    account: _Word | None = None
    extra: Few[Annotated[str, Meta(pattern=r"^-\S+\Z", max_length=255)]] = ()
    """Further options of sbatch."""

    @property
    def time_s(self) -> int:
        """Seconds of ``time``."""
        days, _, clock = self.time.rpartition("-")
        hours, minutes, seconds = map(int, clock.split(":"))
        return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
