# SPDX-License-Identifier: Apache-2.0
"""A run's timeline in SVG coordinates: a lane for each GPU and each site, and an axis of time below."""

from typing import NamedTuple

from rekindle.records.text import format_duration
from rekindle.results.timeline import Doing, Timeline

WIDTH, LEFT, RIGHT = 900, 150, 890
LANE, HEIGHT = 26, 20
"""From one lane to the next, and of a lane's drawing, in pixels."""
TOP = 16
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_TICKS, _ROUNDS = 8, 60
_NAMED = 18


class Lane(NamedTuple):
    """A GPU: a filled path of its utilisation, a line of its memory, and ``(x, Xid)``."""

    name: str
    title: str
    y: int
    used: str
    memory: str
    xids: list[tuple[float, int]]


class SiteLane(NamedTuple):
    """A site: a path of bars for each thing that it did."""

    name: str
    title: str
    y: int
    bars: dict[Doing, str]


class LaneDrawing(NamedTuple):
    """All lanes of a run; ticks are ``(x, label)``, suspensions ``(x, width)``."""

    height: int
    gpus: list[Lane]
    sites: list[SiteLane]
    rounds: list[float]
    ticks: list[tuple[float, str]]
    suspensions: list[tuple[float, float]]
    about: str
    """What the lanes show, in one sentence."""


def draw_lanes(timeline: Timeline, names: dict[str, str]) -> LaneDrawing:
    """Lay out a run's lanes.

    Args:
        timeline: of the run.
        names: of its GPUs, by UUID.
    """
    scale = (RIGHT - LEFT) / timeline.seconds

    def across(seconds: float) -> float:
        return round(LEFT + seconds * scale, 1)

    gpus = []
    for number, uuid in enumerate(sorted(timeline.gpus, key=lambda uuid: names.get(uuid, uuid))):
        samples = timeline.gpus[uuid]
        y = TOP + number * LANE
        peak = max(of.used_mib for of in samples)
        mean = sum(of.utilisation for of in samples) / len(samples)
        points = [(across(of.at), of) for of in sorted(samples)]
        used = [f"{x:g},{_up(y, of.utilisation, 100)}" for x, of in points]
        floor = y + HEIGHT
        gpus.append(
            Lane(
                names.get(uuid, uuid[:_NAMED]),
                f"{uuid}: {mean:.0f} % on average, {peak} MiB at most",
                y,
                f"M{points[0][0]:g},{floor}L{' '.join(used)} {points[-1][0]:g},{floor}Z",
                " ".join(f"{x:g},{_up(y, of.used_mib, peak)}" for x, of in points),
                [(across(xid.at), xid.number) for xid in timeline.xids.get(uuid, ())],
            )
        )
    sites = []
    for number, (site, spans) in enumerate(timeline.sites.items(), len(gpus)):
        y = TOP + number * LANE
        bars: dict[Doing, str] = {}
        took: dict[Doing, float] = {}
        for span in spans:
            left, width = across(span.since), max(0.5, round((span.until - span.since) * scale, 1))
            bars[span.doing] = bars.get(span.doing, "") + f"M{left:g} {y + HEIGHT // 2}h{width:g}"
            took[span.doing] = took.get(span.doing, 0.0) + span.until - span.since
        title = f"{site}: " + ", ".join(f"{doing} {seconds:.1f} s" for doing, seconds in took.items())
        sites.append(SiteLane(site[:_NAMED], title, y, bars))
    step = next((step for step in _STEPS if timeline.seconds / step <= _TICKS), timeline.seconds / _TICKS)
    ticks = [(across(n * step), format_duration(n * step)) for n in range(int(timeline.seconds / step) + 1)]
    rounds = [across(at) for at, _ in timeline.rounds]
    return LaneDrawing(
        TOP + (len(gpus) + len(sites)) * LANE + 22,
        gpus,
        sites,
        rounds[:: -(-len(rounds) // _ROUNDS) or 1],
        ticks,
        [(across(since), round((until - since) * scale, 1)) for since, until in timeline.suspensions],
        f"{len(gpus)} GPUs, {len(sites)} sites, {len(rounds)} rounds, {format_duration(timeline.seconds)}",
    )


def _up(y: int, value: float, most: float) -> int:
    share = min(max(value / most, 0.0), 1.0) if most else 0.0
    return y + HEIGHT - round(share * HEIGHT)
