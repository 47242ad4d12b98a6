"""What the processes of a run's server and sites took: CPU time and disk, of those that have ended too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rekindle.records.events import Worked

from .snapshot import Process


class _Share(NamedTuple):
    member: str
    """``server``, or a site."""
    own: bool
    """Whether the process is NVFlare's own."""
    cpu_s: float
    written: int
    """Bytes."""


class Work:
    """Adds up what it is shown."""

    def __init__(self) -> None:
        """Know of no process yet."""
        self._shares: dict[tuple[int, float], _Share] = {}

    def worked(self, processes: Iterable[Process]) -> dict[str, Worked]:
        """Return what each member's processes took until now, by name.

        A process is of the member that it names, or that the nearest process above it is of. One that was
        seen stays with its member also where its parent has ended.
        """
        there = {process.pid: process for process in processes}
        present: dict[str, list[Process]] = {}
        for process in there.values():
            if member := self._member(process, there):
                share = _Share(member, process.nvflare is not None, process.cpu_s, process.written)
                self._shares[process.pid, process.born] = share
                present.setdefault(member, []).append(process)
        members = sorted({share.member for share in self._shares.values()})
        return {member: self._worked(member, present.get(member, ())) for member in members}

    def _member(self, process: Process | None, there: dict[int, Process]) -> str | None:
        above = {0}
        while process is not None and process.pid not in above:
            known = self._shares.get((process.pid, process.born))
            if member := process.nvflare or process.site or (known and known.member):
                return member
            above.add(process.pid)
            process = there.get(process.parent)
        return None

    def _worked(self, member: str, present: Iterable[Process]) -> Worked:
        shares = [share for share in self._shares.values() if share.member == member]
        own = [share.cpu_s for share in shares if share.own]
        others = [share.cpu_s for share in shares if not share.own]
        return Worked(
            nvflare_s=round(sum(own), 3),
            others_s=round(sum(others), 3) if others else None,
            written_bytes=sum(share.written for share in shares),
            sockets=sum(process.sockets for process in present),
            pids=tuple(sorted(process.pid for process in present)),
        )
