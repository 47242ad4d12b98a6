# SPDX-License-Identifier: Apache-2.0
"""A board as an answer, for a terminal: what changed, what is slower, what is not PASS, a line a job."""

from collections.abc import Iterator

from rekindle.records.text import fold_line, format_duration, list_few
from rekindle.results.board import Board, BoardLine
from rekindle.results.digest import Alike, Digest, Slower, make_digest
from rekindle.results.folds import describe_times
from rekindle.results.row import format_minute

from .table import format_below, format_grid, format_head

NOTHING = "No run has a job."
_SHARES = {
    "job": 0.3,
    "verdict": 1.0,
    "hosts": 1.0,
    "fastest": 1.0,
    "median": 1.0,
    "slowest": 0.3,
    "since": 1.0,
}
_MOST = 20
"""Entries of a kind before the rest are counted."""


def summarise_digest(found: Digest) -> str:
    """Return the answer in one sentence: ``34 of 40 jobs on 8 hosts are PASS; 5 FAIL, 1 LOST.``"""
    if not found.hosts:
        return NOTHING
    counts = dict(found.counts)
    total = sum(counts.values())
    rest = ", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "PASS")
    passed = counts.get("PASS", 0)
    return f"{passed} of {total} jobs on {found.hosts} hosts are PASS{f'; {rest}' if rest else ''}."


def format_digest(board: Board, width: int, colour: bool) -> str:
    """Return the answer for a terminal, at most ``width`` columns wide."""
    found = make_digest(board)
    if not board.lines:
        return "\n".join([NOTHING, *map(fold_line, board.unread)])
    changes = [*(_change(group) for group in found.changed), *map(describe_slower, found.slower)]
    parts = [
        summarise_digest(found),
        _paragraph("Changed since the run before:", changes or ["nothing."], width),
        "\n\n".join(_capped(["\n".join(_bad(group, width, colour)) for group in found.bad])),
        format_grid([_row(*job) for job in found.jobs], _SHARES, width, colour),
        "\n".join(map(fold_line, board.unread)),
    ]
    return "\n\n".join(filter(None, parts))


def describe_slower(slower: Slower) -> str:
    """Return which host or job takes how many times as long."""
    if slower.of_host:
        jobs = list_few([f"{line.job} {_times(line)}" for line in slower.lines], 3)
        return (
            f"{slower.name} is slower: {slower.factor:.2f} times as long in {len(slower.lines)} jobs: {jobs}"
        )
    hosts = list_few([f"{line.host} {_times(line)}" for line in slower.lines], 3)
    return f"{slower.name} takes {slower.factor:.2f} times as long on {hosts}"


def _times(line: BoardLine) -> str:
    return (
        f"{format_duration((line.duration_s or 0) / (line.slower or 1))} → {format_duration(line.duration_s)}"
    )


def _change(group: Alike) -> str:
    what = f"{group.was} → {group.kind}: {', '.join(group.jobs) or 'the host'} on {list_few(group.hosts)}"
    return f"{what}: {group.cause}" if group.cause else what


def _paragraph(head: str, sentences: list[str], width: int) -> str:
    lines = [head]
    for sentence in _capped(sentences):
        lines += format_below(sentence, width)
    return "\n".join(lines)


def _capped(entries: list[str]) -> list[str]:
    rest = len(entries) - _MOST
    return [*entries[:_MOST], f"and {rest} more, which --all has"] if rest > 0 else entries


def _bad(group: Alike, width: int, colour: bool) -> Iterator[str]:
    why = fold_line(group.cause or "No cause was given.")
    yield from format_head(group.kind, f" {group.since}: {why}", width, colour)
    hosts = f"{len(group.hosts)} hosts: " if len(group.hosts) > 1 else ""
    place = f"{', '.join(group.jobs) or 'the host'} on {hosts}{list_few(group.hosts)}"
    yield from format_below(place, width)


def _row(job: str | None, kind: str, lines: list[BoardLine]) -> dict[str, str]:
    times = describe_times((line.duration_s, line.host) for line in lines)
    return {
        "job": job or "–",
        "verdict": kind,
        "hosts": str(len({line.host for line in lines})),
        **dict(zip(("fastest", "median", "slowest"), times, strict=True)),
        "since": format_minute(min(line.since for line in lines)),
    }
