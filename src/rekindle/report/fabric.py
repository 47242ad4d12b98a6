# SPDX-License-Identifier: Apache-2.0
"""What is between hosts, host × host: a heat map for the page, a table for a terminal."""

from statistics import median
from typing import NamedTuple

from rekindle.acceptance.evaluation import format_figure, format_size
from rekindle.fabric.groups import find_rate, pick_whole
from rekindle.fabric.judgement import judge_fabric
from rekindle.fabric.pairs import find_best, group_pairs, list_transports, select_measured
from rekindle.fabric.schedule import Pair, order_pair
from rekindle.records.fabric import FabricRecord

from .table import format_grid

_LEVELS = (0.925, 0.75, 0.5, 0.2)
"""Shares of the median below which a cell is one level hotter; no result is hotter still."""
_NO_RESULT = len(_LEVELS) + 1
_NAMED = 24
"""Hosts up to which each cell has its figure; of more, it is a dot of a picture."""
_ON_TERMINAL = 8
_DOT = 4


class HeatCell(NamedTuple):
    """A pair, or a host with itself (``level`` is None)."""

    text: str
    level: int | None
    title: str


class HeatMap(NamedTuple):
    """The bandwidth between all hosts."""

    caption: str
    hosts: tuple[str, ...]
    rows: list[list[HeatCell]]
    """Host by host; empty for many hosts."""
    dots: dict[int, str]
    """For many hosts: an SVG path by level."""
    side: int
    """Of the picture."""


def draw_heat_map(record: FabricRecord) -> HeatMap:
    """Lay out the record's pairs by their best all-reduce at the largest size that most of them reached."""
    pairs = group_pairs(record.looks)
    found = find_best(select_measured(pairs))
    best = {size: of for (op, size), of in found.items() if op == "all_reduce"}
    medians = {size: median(of.values()) for size, of in best.items()}
    common = max((size for size, of in best.items() if 2 * len(of) >= len(pairs)), default=0)
    cells: dict[Pair, HeatCell] = {}
    for pair, looks in pairs.items():
        size = max((size for size, of in best.items() if pair in of and size <= common), default=0)
        if not size:
            cells[pair] = HeatCell("–", _NO_RESULT, f"{pair[0]}, {pair[1]}: {looks[-1].outcome}")
            continue
        value = best[size][pair]
        level = sum(value < share * medians[size] for share in _LEVELS)
        figure = format_figure(value)
        cells[pair] = HeatCell(figure, level, f"{pair[0]}, {pair[1]}: {figure} GB/s at {format_size(size)}")
    over, whole = list_transports(record.looks), pick_whole(record.looks)
    together = find_rate(whole) if whole else None
    caption = f"Bandwidth {'node × node of ' + record.host if record.host else 'host × host'}"
    if common:
        caption += f", all-reduce of {format_size(common)}, GB/s, median {format_figure(medians[common])}"
        caption += f", all together {format_figure(together)}" if together else ""
        caption += f", over {' and '.join(over)}" if over else ""
    else:
        caption += ": no pair has a result"
    many = len(record.hosts) > _NAMED
    rows = [] if many else [[_cell(cells, one, other) for other in record.hosts] for one in record.hosts]
    return HeatMap(
        caption,
        record.hosts,
        rows,
        _draw_dots(record.hosts, cells) if many else {},
        _DOT * len(record.hosts),
    )


def _cell(cells: dict[Pair, HeatCell], one: str, other: str) -> HeatCell:
    if one == other:
        return HeatCell("", None, one)
    return cells.get(order_pair(one, other), HeatCell("", None, f"{one}, {other}: not measured"))


def _draw_dots(hosts: tuple[str, ...], cells: dict[Pair, HeatCell]) -> dict[int, str]:
    dots: dict[int, list[str]] = {}
    for row, one in enumerate(hosts):
        for column, other in enumerate(hosts):
            level = _cell(cells, one, other).level
            if level is not None:
                dots.setdefault(level, []).append(f"M{_DOT * column} {_DOT * row}h3v3h-3z")
    return {level: "".join(paths) for level, paths in sorted(dots.items())}


def format_fabric(record: FabricRecord, width: int, colour: bool) -> str:
    """Return the matrix of a few hosts, and what is noted; the rows of hosts have the rest."""
    parts = [flaw.message for flaw in judge_fabric(record) if not flaw.verdict]
    if len(record.hosts) <= _ON_TERMINAL:
        heat = draw_heat_map(record)
        rows = [
            {"GB/s": host, **{other: cell.text or "·" for other, cell in zip(heat.hosts, row, strict=True)}}
            for host, row in zip(heat.hosts, heat.rows, strict=True)
        ]
        parts.append(f"{heat.caption}:\n{format_grid(rows, {}, width, colour)}")
    return "\n\n".join(parts)
