# SPDX-License-Identifier: Apache-2.0
"""A run's timeline in SVG coordinates: a lane for each GPU and each site, and an axis of time below."""

from collections.abc import Callable
from typing import NamedTuple

from rekindle.records.text import format_duration
from rekindle.results.timeline import Doing, SiteSpan, Timeline

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
    doings: set[Doing]
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
        peak = max(1, *(of.used_mib for of in samples))
        shares = [of.utilisation for of in samples if of.utilisation is not None]
        mean = f"{sum(shares) / len(shares):.0f} % on average, " if shares else ""
        points = [(round(across(of.at)), of) for of in sorted(samples)]
        floor = y + HEIGHT
        used = [f"{x},{_up(floor, of.utilisation or 0, 100)}" for x, of in points]
        gpus.append(
            Lane(
                names.get(uuid, uuid[:_NAMED]),
                f"{uuid}: {mean}{peak} MiB at most",
                y,
                f"M{points[0][0]},{floor}L{' '.join(used)} {points[-1][0]},{floor}Z",
                " ".join(f"{x},{_up(floor, of.used_mib, peak)}" for x, of in points),
                [(across(xid.at), xid.number) for xid in timeline.xids.get(uuid, ())],
            )
        )
    sites = []
    for number, (site, spans) in enumerate(timeline.sites.items(), len(gpus)):
        y = TOP + number * LANE
        took: dict[Doing, float] = {}
        for span in spans:
            took[span.doing] = took.get(span.doing, 0.0) + span.until - span.since
        bars = {doing: _bars(y, doing, spans, across) for doing in took}
        title = f"{site}: " + ", ".join(f"{doing} {seconds:.1f} s" for doing, seconds in took.items())
        sites.append(SiteLane(site[:_NAMED], title, y, bars))
    step = next((step for step in _STEPS if timeline.seconds / step <= _TICKS), timeline.seconds / _TICKS)
    ticks = [(across(n * step), format_duration(n * step)) for n in range(int(timeline.seconds / step) + 1)]
    rounds = [across(at) for at, _ in timeline.rounds]
    return LaneDrawing(
        TOP + (len(gpus) + len(sites)) * LANE + 22,
        gpus,
        sites,
        {doing for site in sites for doing in site.bars},
        rounds[:: -(-len(rounds) // _ROUNDS) or 1],
        ticks,
        [(across(since), round((until - since) * scale, 1)) for since, until in timeline.suspensions],
        f"{len(gpus)} GPUs, {len(sites)} sites, {len(rounds)} rounds, {format_duration(timeline.seconds)}",
    )


def _bars(y: int, doing: Doing, spans: list[SiteSpan], across: Callable[[float], float]) -> str:
    """Return a path of bars, of which those less than a pixel apart are one."""
    bars: list[list[float]] = []
    for span in spans:
        if span.doing == doing:
            left, right = across(span.since), max(across(span.until), across(span.since) + 0.5)
            if bars and left - bars[-1][1] < 1:
                bars[-1][1] = right
            else:
                bars.append([left, right])
    return "".join(f"M{left:g} {y + HEIGHT // 2}h{right - left:.1f}" for left, right in bars)


def _up(floor: int, value: int, most: int) -> int:
    return floor - round(HEIGHT * min(max(value, 0), most) / most)
