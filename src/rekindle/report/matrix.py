# SPDX-License-Identifier: Apache-2.0
"""Hosts by jobs, a letter each, the worst first: for the page's tiles, its map of hosts and its table."""

from collections import Counter
from typing import NamedTuple

from rekindle.results.causes import NO_FAILURE, find_standing, rank_kind
from rekindle.results.contents import HostResults, Results
from rekindle.results.joints import is_joint
from rekindle.results.row import RowKind

_LETTERS = {"UNSUPPORTED": "N", "RETIRED": "T", "READY": "Y"}
"""Those of kinds whose first letter another kind has."""


class Cell(NamedTuple):
    """A job on a host; ``kind`` is None where it was not asked for."""

    kind: RowKind | None
    job: str | None


class HostLine(NamedTuple):
    """A host; ``number`` is its place in the inventory."""

    number: int
    host: str
    gpus: str
    kind: RowKind | None
    """What it amounts to; None for a site of a federation without a row of its own."""
    cells: list[Cell]


class Square(NamedTuple):
    """A host on the map; one that is as it should be has no letter."""

    host: str
    kind: RowKind | None
    letter: str


class Fleet(NamedTuple):
    """All hosts; the column of ``None`` is of hosts themselves."""

    tiles: list[tuple[RowKind, int]]
    """How many hosts amount to each kind, the worst first."""
    jobs: list[str | None]
    lines: list[HostLine]
    """Hosts that something is wrong with, the worst first."""
    passed: list[HostLine]
    letters: list[tuple[RowKind, str]]
    """Of the kinds in ``lines``."""
    squares: list[Square]
    gpus: str | None
    """Those of each host, if all hosts in ``lines`` have the same."""


def choose_letter(kind: RowKind) -> str:
    """Return the letter that stands for a kind."""
    return _LETTERS.get(kind, kind[0])


def make_fleet(results: Results) -> Fleet:
    """Lay out results."""
    jobs = list(dict.fromkeys(row.job for row in results.rows))
    jobs.sort(key=lambda job: job is not None)
    lines = [_line(number, host, jobs) for number, host in enumerate(results.hosts)]
    counts = Counter(line.kind for line in lines if line.kind)
    passed = [line for line in lines if _is_well(line)]
    bad = sorted((line for line in lines if not _is_well(line)), key=_worst)
    kinds = {cell.kind for line in bad for cell in line.cells if cell.kind}
    gpus = {line.gpus for line in bad}
    squares = [Square(line.host, line.kind, _mark(line.kind)) for line in lines if not is_joint(line.host)]
    return Fleet(
        [(kind, counts[kind]) for kind in sorted(counts, key=rank_kind)],
        jobs,
        bad,
        passed,
        [(kind, choose_letter(kind)) for kind in sorted(kinds, key=rank_kind)],
        squares,
        gpus.pop() if len(gpus) == 1 else None,
    )


def _mark(kind: RowKind | None) -> str:
    return "" if kind is None or kind in NO_FAILURE else choose_letter(kind)


def _is_well(line: HostLine) -> bool:
    return all(cell.kind is None or cell.kind in NO_FAILURE for cell in line.cells)


def _worst(line: HostLine) -> list[int]:
    return sorted(rank_kind(cell.kind) for cell in line.cells if cell.kind)


def _line(number: int, host: HostResults, jobs: list[str | None]) -> HostLine:
    of = {job: [row for row in host.rows if row.job == job] for job in jobs}
    cells = [Cell(find_standing(rows) if rows else None, job) for job, rows in of.items()]
    return HostLine(number, host.name, _gpus(host), find_standing(host.rows) if host.rows else None, cells)


def _gpus(host: HostResults) -> str:
    names = Counter(gpu.name or "GPU" for gpu in (host.host.gpus if host.host else ()))
    return ", ".join(f"{count} × {name}" for name, count in names.items()) or "–"
