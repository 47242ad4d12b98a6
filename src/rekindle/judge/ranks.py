# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a run recorded."""

from functools import cached_property

from rekindle.records import RunEnd, RunSpec
from rekindle.records.events import DeviceEvent, RoundEvent
from rekindle.records.evidence import EvidenceLine


class Ranks:
    """The ranks of a run's sites."""

    def __init__(
        self,
        spec: RunSpec,
        ended: RunEnd | None,
        rounds: list[EvidenceLine[RoundEvent]],
        devices: list[EvidenceLine[DeviceEvent]],
    ) -> None:
        """Take the run's spec and end, and what ranks recorded."""
        self._spec, self._ended, self._devices = spec, ended, devices
        self._rounds: dict[tuple[str, int], list[EvidenceLine[RoundEvent]]] = {}
        for line in sorted(rounds, key=lambda line: line.event.round):
            self._rounds.setdefault((line.event.site, line.event.rank), []).append(line)

    @cached_property
    def all(self) -> list[tuple[str, int]]:
        """Every rank that was asked for: its site's name and its number there."""
        return [(site.name, rank) for site in self._spec.sites for rank in range(site.ranks)]

    def rounds(self, site: str, rank: int) -> list[EvidenceLine[RoundEvent]]:
        """Return the rounds of one rank, in order."""
        return self._rounds.get((site, rank), [])

    def measure_suspension(self, event: RoundEvent) -> float:
        """Return for how long the run was suspended in a rank's round."""
        host, since = self._spec.member_host(event.site), event.time - event.seconds
        spans = (span for span in (self._ended.suspensions if self._ended else ()) if span.has_stopped(host))
        return sum(max(0.0, min(event.time, span.until) - max(since, span.since)) for span in spans)

    @cached_property
    def processes(self) -> dict[tuple[str, int], tuple[str | None, int]]:
        """Node and PID of each rank that reported its device, by site and rank; no node on one machine."""
        spread, reported = bool(self._spec.nodes), (line.event for line in self._devices)
        return {(event.site, event.rank): (event.node if spread else None, event.pid) for event in reported}
