"""What the processes of a run's server and sites took: CPU time and disk, of those that have ended too."""

from __future__ import annotations

from collections.abc import Iterable

from rekindle.records.events import Worked

from .snapshot import Process


class Work:
    """Adds up what it is shown."""

    def __init__(self) -> None:
        """Know of no process yet."""
        self._seen: dict[tuple[int, float], tuple[str, Process]] = {}

    def worked(self, processes: Iterable[Process]) -> dict[str, Worked]:
        """Return what each member's processes took until now, by name: of the server, or of a site.

        A process is of the member that it names, or that the nearest process above it is of. One that was
        seen stays with its member also where its parent has ended.
        """
        present = {process.pid: process for process in processes}
        for process in present.values():
            if member := self._member(process, present):
                self._seen[process.pid, process.born] = member, process
        by_member: dict[str, list[Process]] = {}
        for member, process in self._seen.values():
            by_member.setdefault(member, []).append(process)
        return {member: _worked(own, present) for member, own in sorted(by_member.items())}

    def _member(self, process: Process | None, present: dict[int, Process]) -> str | None:
        above = {0}
        while process is not None and process.pid not in above:
            known, _ = self._seen.get((process.pid, process.born), (None, None))
            if member := process.nvflare or process.site or known:
                return member
            above.add(process.pid)
            process = present.get(process.parent)
        return None


def _worked(processes: list[Process], present: dict[int, Process]) -> Worked:
    others = [process.cpu_s for process in processes if process.nvflare is None]
    alive = [process for process in processes if present.get(process.pid) is process]
    return Worked(
        nvflare_s=round(sum(process.cpu_s for process in processes if process.nvflare is not None), 3),
        others_s=round(sum(others), 3) if others else None,
        written_bytes=sum(process.written for process in processes),
        sockets=sum(process.sockets for process in alive),
        pids=tuple(sorted(process.pid for process in alive)),
    )
