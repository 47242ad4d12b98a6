# SPDX-License-Identifier: Apache-2.0
"""A board as an answer: what changed, what takes longer, what is not PASS since when, a line a job."""

from collections import Counter
from collections.abc import Callable, Iterable
from statistics import median
from typing import NamedTuple

from .board import Board, BoardLine
from .causes import NO_FAILURE, generalise_text, rank_kind
from .comparison import MUCH
from .row import RowKind, format_minute

_SEVERAL = 3
"""Jobs of one host that take longer: from here on it is the host."""


class Alike(NamedTuple):
    """Lines of one kind, and of the same kind before, whose causes differ only in hosts and figures."""

    kind: RowKind
    was: RowKind | None
    cause: str | None
    """Of the first line."""
    lines: list[BoardLine]

    @property
    def hosts(self) -> list[str]:
        """Names, each once."""
        return list(dict.fromkeys(line.host for line in self.lines))

    @property
    def jobs(self) -> list[str]:
        """Names, each once."""
        return list(dict.fromkeys(line.job for line in self.lines if line.job))

    @property
    def since(self) -> str:
        """When the first of them began to be so, and the last: ``since 2026-11-21 02:00``."""
        times = sorted({format_minute(line.since) for line in self.lines})
        last = f", the latest since {times[-1]}" if times[1:] else ""
        return f"since {times[0]}{last}"


class Slower(NamedTuple):
    """A host whose jobs take longer than in the run before, or a job that does on several hosts."""

    name: str
    of_host: bool
    lines: list[BoardLine]

    @property
    def factor(self) -> float:
        """How many times as long, in the middle."""
        return median(line.slower or 1.0 for line in self.lines)


class Digest(NamedTuple):
    """A board in the form of an answer."""

    counts: list[tuple[RowKind, int]]
    """Of required lines, the worst first."""
    hosts: int
    changed: list[Alike]
    slower: list[Slower]
    bad: list[Alike]
    jobs: list[tuple[str | None, RowKind, list[BoardLine]]]
    """What is as it should be."""


def make_digest(board: Board) -> Digest:
    """Return a board's answer."""
    lines = board.lines
    hosts = {line.host for line in lines}
    counts = Counter(line.verdict for line in lines if line.required)
    changed = [line for line in lines if line.was not in {None, line.verdict}]
    jobs: dict[tuple[str | None, RowKind], list[BoardLine]] = {}
    for line in lines:
        if line.good or line.verdict in NO_FAILURE:
            jobs.setdefault((line.job, line.verdict), []).append(line)
    return Digest(
        [(kind, counts[kind]) for kind in sorted(counts, key=rank_kind)],
        len(hosts),
        _grouped(changed, hosts, lambda line: line.was),
        list(_slower(lines)),
        _grouped((line for line in lines if not line.good or line.notice), hosts, lambda line: None),
        [(job, kind, of) for (job, kind), of in jobs.items()],
    )


def _grouped(
    lines: Iterable[BoardLine], hosts: set[str], was: Callable[[BoardLine], RowKind | None]
) -> list[Alike]:
    groups: dict[tuple[RowKind, RowKind | None, str], list[BoardLine]] = {}
    for line in lines:
        why = line.notice or line.cause or ""
        groups.setdefault((line.verdict, was(line), generalise_text(why, hosts)), []).append(line)
    found = [Alike(kind, before, of[0].notice or of[0].cause, of) for (kind, before, _), of in groups.items()]
    return sorted(found, key=lambda group: (rank_kind(group.kind), -len(group.lines)))


def _slower(lines: Iterable[BoardLine]) -> Iterable[Slower]:
    by_host: dict[str, list[BoardLine]] = {}
    for line in lines:
        if line.slower is not None and line.slower > MUCH:
            by_host.setdefault(line.host, []).append(line)
    rest: dict[str, list[BoardLine]] = {}
    for host, of in by_host.items():
        if len(of) >= _SEVERAL:
            yield Slower(host, of_host=True, lines=of)
        else:
            for line in of:
                rest.setdefault(line.job or "", []).append(line)
    for job, of in rest.items():
        yield Slower(job, of_host=False, lines=of)
