# SPDX-License-Identifier: Apache-2.0
"""Hosts by jobs, a letter each: the first table of the page."""

from collections import Counter
from typing import NamedTuple

from rekindle.results.causes import find_standing, rank_kind
from rekindle.results.contents import HostResults, Results
from rekindle.results.row import RowKind

_LETTERS = {"UNSUPPORTED": "N", "RETIRED": "T", "READY": "Y"}
"""Those of kinds whose first letter another kind has."""


class Cell(NamedTuple):
    """A job on a host; ``kind`` is None where it was not asked for."""

    kind: RowKind | None
    job: str | None


class MatrixLine(NamedTuple):
    """A host."""

    host: str
    gpus: str
    cells: list[Cell]
    kinds: list[RowKind]
    """Of its cells, each once."""


class Matrix(NamedTuple):
    """All hosts; the column of ``None`` is of hosts themselves."""

    jobs: list[str | None]
    lines: list[MatrixLine]
    kinds: list[tuple[RowKind, str, int]]
    """Each kind with its letter and how many cells have it, the worst first."""

    @staticmethod
    def letter(kind: RowKind) -> str:
        """Return the letter that stands for a kind."""
        return _LETTERS.get(kind, kind[0])


def make_matrix(results: Results) -> Matrix:
    """Lay out results."""
    jobs = list(dict.fromkeys(row.job for row in results.rows))
    jobs.sort(key=lambda job: job is not None)
    lines = [_line(host, jobs) for host in results.hosts]
    counts = Counter(cell.kind for line in lines for cell in line.cells if cell.kind)
    kinds = [(kind, Matrix.letter(kind), counts[kind]) for kind in sorted(counts, key=rank_kind)]
    return Matrix(jobs, lines, kinds)


def _line(host: HostResults, jobs: list[str | None]) -> MatrixLine:
    of = {job: [row for row in host.rows if row.job == job] for job in jobs}
    cells = [Cell(find_standing(rows) if rows else None, job) for job, rows in of.items()]
    kinds = list(dict.fromkeys(cell.kind for cell in cells if cell.kind))
    return MatrixLine(host.name, _gpus(host), cells, kinds)


def _gpus(host: HostResults) -> str:
    names = Counter(gpu.name or "GPU" for gpu in (host.host.gpus if host.host else ()))
    return ", ".join(f"{count} × {name}" for name, count in names.items()) or "–"
